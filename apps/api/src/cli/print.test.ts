import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { print } from "./print.ts";
import { itemOf, listOf, type Result } from "./result.ts";

/** A stream whose reader has exited. */
function createBrokenPipe(): Writable {
  return new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" })),
  });
}

const view = [{ label: "Key", text: ({ key }: { readonly key: string }) => key }];
const list = { present: (item: { readonly key: string }) => item, view, emptyText: "No keys." };
const items = [{ key: "lk_1" }];

test.each<[string, () => Result]>([
  ["one item", () => itemOf({ key: "lk_1" }, view)],
  ["a list with secrets", () => listOf(items, { ...list, hasSecrets: true })],
])("reports that %s was lost if the reader has exited", async (_name, create) => {
  for (const isJson of [true, false])
    await expect(print(create(), isJson, createBrokenPipe())).rejects.toMatchObject({
      code: "BAD_REQUEST",
      message: expect.stringContaining("its output was lost"),
    });
});

async function* createText() {
  yield "text";
}

test.each<[string, () => Result]>([
  ["a list", () => listOf(items, list)],
  ["a text", () => ({ kind: "text", chunks: createText() })],
])("a reader that exits early ends %s", async (_name, create) => {
  for (const isJson of [true, false]) await print(create(), isJson, createBrokenPipe());
});

test("other errors of the stream are reported as they are", async () => {
  const full = Object.assign(new Error("write ENOSPC"), { code: "ENOSPC" });
  const stream = new Writable({ write: (_chunk, _encoding, done) => done(full) });
  await expect(print(listOf(items, list), true, stream)).rejects.toBe(full);
});
