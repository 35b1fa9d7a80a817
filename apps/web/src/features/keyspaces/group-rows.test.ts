import type { KeyFileRow } from "@latchkey/key-file/key-file-row";
import { requestLimits } from "@latchkey/limits";
import { expect, test } from "vitest";
import { groupRows } from "./group-rows.ts";

async function group(contents: readonly KeyFileRow["content"][]): Promise<KeyFileRow[][]> {
  async function* toRows() {
    for (const [index, content] of contents.entries()) yield { line: index + 1, content };
  }
  return await Array.fromAsync(groupRows(toRows()));
}

/** The body of a call with these rows and its IDs. */
function bodyBytesOf(rows: readonly KeyFileRow[]): number {
  const id = "x".repeat(40);
  return new TextEncoder().encode(JSON.stringify({ 0: { workspaceId: id, keyspaceId: id, rows } })).length;
}

test("a call has at most 500 rows", async () => {
  const groups = await group(Array.from({ length: 1_001 }, () => ({ hash: "a" })));
  expect(groups.map(({ length }) => length)).toEqual([500, 500, 1]);
});

test.each(["a", "漢", "🔑", '"', "\\", "\n"])(
  "every call with rows of %j is smaller than the largest body, and no row is lost",
  async (character) => {
    const contents = Array.from({ length: 100 }, () => ({
      hash: "a",
      meta: { text: character.repeat(1_000) },
    }));
    const groups = await group(contents);
    for (const rows of groups) expect(bodyBytesOf(rows)).toBeLessThan(requestLimits.maxBodyBytes);
    expect(groups.flat().map(({ content }) => content)).toEqual(contents);
  },
);

test("a row that is larger than a call is replaced by what is wrong with it, and a smaller one is sent alone", async () => {
  const fitting = { hash: "b", name: "x".repeat(99_000) };
  const groups = await group([
    { hash: "a" },
    { hash: "b", name: "漢".repeat(34_000) },
    fitting,
    { hash: "c" },
  ]);
  expect(groups).toEqual([
    [
      { line: 1, content: { hash: "a" } },
      { line: 2, content: { problem: "This row has 102,043 bytes of JSON. Use at most 100,000." } },
    ],
    [{ line: 3, content: fitting }],
    [{ line: 4, content: { hash: "c" } }],
  ]);
  for (const rows of groups) expect(bodyBytesOf(rows)).toBeLessThan(requestLimits.maxBodyBytes);
});
