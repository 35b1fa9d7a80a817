// Texts that consumers present as keys. None of them fails the verification of another key.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createIssuedKeyClient } from "./issued-key-client.ts";
import { createOpenClient } from "./open-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { send } = createOpenClient(() => app);
const { addSpace, addKey } = createIssuedKeyClient(() => app);

const texts = {
  "an empty text": "",
  "a space": " ",
  "a tab": "\t",
  "a text of 513 characters": "a".repeat(513),
  "a text of 90,000 characters": "a".repeat(90_000),
  "a text with U+0000": "a\u0000b",
  "a text with line breaks": "acme_\r\nX: y",
  "a text with a right-to-left override": "\u202eacme",
  "the prefix of API keys": "lk_",
};

test("any text that isn't a key is not found, alone and in a batch, whose other keys are verified", async () => {
  const space = await addSpace();
  const { owner, id: workspaceId } = space.team;
  let remaining = 100;
  const { secret } = await addKey(space, { credits: { remaining } });
  for (const [description, text] of Object.entries(texts)) {
    const alone = await send(owner.secret, ["POST", "/keys/verify"], { key: text });
    expect([description, alone.status, alone.body.code]).toEqual([description, 200, "NOT_FOUND"]);
    const { status, body } = await send(owner.secret, ["POST", "/keys/verify-batch"], {
      verifications: [{ key: secret }, { key: text, workspaceId, keyspaceId: space.id }, { key: secret }],
    });
    remaining -= 2;
    expect([description, status, body.data?.map(({ code, credits }) => [code, credits])]).toEqual([
      description,
      200,
      [
        ["VALID", { remaining: remaining + 1 }],
        ["NOT_FOUND", null],
        ["VALID", { remaining }],
      ],
    ]);
  }
});

test("an imported key can have any characters, and up to 512 of them", async () => {
  const space = await addSpace();
  const { owner, id: workspaceId } = space.team;
  const keys = ["tab\tkey", " spaces ", "line\nkey", "nul\u0000key", "ключ", "x".repeat(512)];
  const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
  const rows = [...keys, "x".repeat(513)].map((key, index) => ({
    line: index + 1,
    content: { hash: hashOf(key) },
  }));
  await owner.client.issuedKeyImport.importRows.mutate({ workspaceId, keyspaceId: space.id, rows });
  for (const key of keys)
    expect((await send(owner.secret, ["POST", "/keys/verify"], { key })).body.code).toBe("VALID");
  const tooLong = await send(owner.secret, ["POST", "/keys/verify"], { key: "x".repeat(513) });
  expect(tooLong.body.code).toBe("NOT_FOUND");
});

test("the hash of an empty key can't be imported", async () => {
  const space = await addSpace();
  const content = { hash: createHash("sha256").digest("base64") };
  const { id: workspaceId, owner } = space.team;
  const rows = [{ line: 1, content }];
  const imported = owner.client.issuedKeyImport.importRows.mutate({
    workspaceId,
    keyspaceId: space.id,
    rows,
  });
  expect(await imported).toEqual({
    imported: 0,
    existing: 0,
    rejected: [
      {
        line: 1,
        path: "hash",
        message: "This is the SHA-256 of an empty string. Enter the SHA-256 of a key.",
      },
    ],
  });
});

test("43 hexadecimal digits are a digest that was cut, and not base64", async () => {
  const space = await addSpace();
  const digits = createHash("sha256").update("legacy").digest("hex").slice(0, 43);
  const { id: workspaceId, owner } = space.team;
  const rows = [digits, digits.toUpperCase(), `${digits}=`].map((hash, index) => ({
    line: index + 1,
    content: { hash },
  }));
  const imported = await owner.client.issuedKeyImport.importRows.mutate({
    workspaceId,
    keyspaceId: space.id,
    rows,
  });
  const message = "This is part of a hexadecimal SHA-256. Enter all 64 digits.";
  expect(imported).toEqual({
    imported: 0,
    existing: 0,
    rejected: [1, 2, 3].map((line) => ({ line, path: "hash", message })),
  });
});

test("a text that isn't valid Unicode is an error of the whole body, like everywhere in the API", async () => {
  const space = await addSpace();
  const { secret } = await addKey(space, { credits: { remaining: 5 } });
  const { owner } = space.team;
  const verifications = [{ key: secret }, { key: "acme_\ud800" }];
  const { status, body } = await send(owner.secret, ["POST", "/keys/verify-batch"], { verifications });
  expect([status, body.error]).toMatchObject([400, { issues: [{ path: "verifications.1.key" }] }]);
  const repaired = verifications.map(({ key }) => ({ key: key.toWellFormed() }));
  const { body: results } = await send(owner.secret, ["POST", "/keys/verify-batch"], {
    verifications: repaired,
  });
  expect(results.data).toMatchObject([{ code: "VALID", credits: { remaining: 4 } }, { code: "NOT_FOUND" }]);
});
