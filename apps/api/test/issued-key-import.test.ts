// Imports of keys that other systems issued: defaults, limits, known secrets and recent authentication.
import { createHash, randomUUID } from "node:crypto";
import { issuedKeyLimits } from "@latchkey/limits";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenClient } from "./open-client.ts";
import { addTeam, join, type Team } from "./team.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ quotas: { issuedKeysPerWorkspace: 1_200 } });
});
afterAll(() => app.close());

const { send } = createOpenClient(() => app);

async function addKeyspace({ owner, path }: Team, values: object = {}): Promise<string> {
  const fields = { name: "API", prefix: "acme", ...values };
  return String((await send(owner.secret, ["POST", `${path}/keyspaces`], fields)).body.id);
}

/** Imports rows that have these fields, from line 1 on. */
async function importRows({ owner: { client }, id: workspaceId }: Team, keyspaceId: string, rows: object[]) {
  return await client.issuedKeyImport.importRows.mutate({
    workspaceId,
    keyspaceId,
    rows: rows.map((content, index) => ({ line: index + 1, content: { ...content } })),
  });
}

async function listKeys({ owner, path }: Team, keyspaceId: string) {
  return (await send(owner.secret, ["GET", `${path}/keyspaces/${keyspaceId}/keys`])).body.data ?? [];
}

async function verify({ owner }: Team, key: string) {
  return (await send(owner.secret, ["POST", "/keys/verify"], { key })).body;
}

function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

function addRow(settings: object = {}): { hash: string } & Record<string, unknown> {
  return { hash: hashOf(randomUUID()), ...settings };
}

test("a hash is in hexadecimal, base64 or base64url, with or without padding", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  // The alphabets differ in two characters, and the hash of this key has both.
  const key = "old-system-key-2";
  const base64 = createHash("sha256").update(key).digest("base64");
  expect(base64).toMatch(/(?=.*\+).*\//);
  const base64url = base64.replaceAll("+", "-").replaceAll("/", "_");
  const unpadded = base64url.replace("=", "");
  const imported = { imported: 1, existing: 0, rejected: [] };
  expect(await importRows(team, keyspaceId, [{ hash: unpadded }])).toEqual(imported);
  expect(await verify(team, key)).toMatchObject({ code: "VALID" });
  const same = [hashOf(key), base64, base64.replace("=", ""), base64url].map((hash) => ({ hash }));
  expect(await importRows(team, keyspaceId, same)).toEqual({ imported: 0, existing: 4, rejected: [] });
  const mixed = [`${"+".repeat(42)}-`, `${unpadded}==`, unpadded.slice(1)].map((hash) => ({ hash }));
  const message = "Enter the SHA-256 of the key, in hexadecimal, base64 or base64url.";
  expect((await importRows(team, keyspaceId, mixed)).rejected).toEqual(
    [1, 2, 3].map((line) => ({ line, path: "hash", message })),
  );
});

test("settings that a row leaves out are the defaults of the keyspace", async () => {
  const team = await addTeam(app);
  const limits = [{ name: "requests", quota: 100, windowSeconds: 60, appliesAlways: true }];
  const keyspaceId = await addKeyspace(team, {
    defaultLifetimeDays: 30,
    defaultPermissions: ["documents.read"],
    defaultLimits: limits,
    defaultCredits: { remaining: 7 },
  });
  const own = {
    start: "old_abcdef",
    name: "Own",
    permissions: ["*"],
    limits: [],
    credits: null,
    expiresAt: null,
    meta: { plan: "pro" },
    ipRanges: ["203.0.113.0/24"],
  };
  const rows = [addRow(), addRow(own)];
  expect(await importRows(team, keyspaceId, rows)).toEqual({ imported: 2, existing: 0, rejected: [] });
  const keys = await listKeys(team, keyspaceId);
  const byName = Object.fromEntries(keys.map((key) => [String(key.name), key]));
  expect(byName[""]).toMatchObject({
    start: "",
    permissions: ["documents.read"],
    limits,
    credits: { remaining: 7 },
    expiresAt: expect.any(String),
  });
  expect(byName.Own).toMatchObject(own);
});

test("of several rows with the same key, the first one counts, even if it is rejected", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  const [one, other] = [addRow(), addRow()];
  const message = "An earlier row with this key was rejected.";
  expect(
    await importRows(team, keyspaceId, [
      { ...one, permissions: ["not valid"] },
      one,
      other,
      { ...other, permissions: ["not valid"] },
      other,
    ]),
  ).toEqual({
    imported: 1,
    existing: 1,
    rejected: [
      expect.objectContaining({ line: 1, path: "permissions.0" }),
      { line: 2, path: "hash", message },
      expect.objectContaining({ line: 4 }),
    ],
  });
});

test("a key of another keyspace and an old secret of a rotated key are rejected, and a repeated row counts as existing", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  const other = await addKeyspace(team);
  const path = `${team.path}/keyspaces/${other}/keys`;
  const { body: issued } = await send(team.owner.secret, ["POST", path], {});
  const { body: rotated } = await send(team.owner.secret, ["POST", `${path}/${issued.id}/rotate`], {});
  const repeated = addRow();
  const rows = [
    { hash: hashOf(String(issued.key)) },
    { hash: hashOf(String(rotated.key)) },
    repeated,
    repeated,
  ];
  const message = expect.stringContaining("Another keyspace");
  const rejected = [1, 2].map((line) => ({ line, path: "hash", message }));
  expect(await importRows(team, keyspaceId, rows)).toEqual({ imported: 1, existing: 1, rejected });
  expect(await importRows(team, other, rows.slice(0, 2))).toEqual({
    imported: 0,
    existing: 1,
    rejected: [{ line: 1, path: "hash", message }],
  });
  // The keys of a deleted keyspace are removed in the background.
  const { status } = await send(team.owner.secret, ["DELETE", `${team.path}/keyspaces/${other}`]);
  expect(status).toBe(204);
  const { rejected: leftOver } = await importRows(team, keyspaceId, rows.slice(0, 1));
  expect(leftOver).toMatchObject([{ message: expect.stringContaining("deleted keyspace") }]);
});

test("a repeated row is rejected if the first one with its key is", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  const { hash } = addRow();
  const result = await importRows(team, keyspaceId, [{ hash, expiresAt: "2020-01-01T00:00:00Z" }, { hash }]);
  expect(result).toEqual({
    imported: 0,
    existing: 0,
    rejected: [
      { line: 1, path: "expiresAt", message: "The key has expired." },
      { line: 2, path: "hash", message: "An earlier row with this key was rejected." },
    ],
  });
});

test("rows that aren't valid are rejected with their line, and the others are imported", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  const rows = [
    addRow({ expiresAt: "2020-01-01T00:00:00Z" }),
    addRow(),
    { name: "No hash" },
    addRow({ start: "x".repeat(24) }),
    addRow({ secret: "acme_secret" }),
    addRow({ meta: "text" }),
    // A CSV file has texts, if they aren't JSON.
    addRow({ isDisabled: "yes" }),
    addRow({ credits: "abc" }),
  ];
  const result = await importRows(team, keyspaceId, rows);
  expect(result).toMatchObject({ imported: 1, existing: 0 });
  expect(result.rejected).toEqual([
    { line: 1, path: "expiresAt", message: "The key has expired." },
    { line: 3, path: "hash", message: "Enter the SHA-256 of the key, in hexadecimal, base64 or base64url." },
    { line: 4, path: "start", message: "Use at most 23 characters." },
    { line: 5, path: "secret", message: "Unknown field" },
    { line: 6, path: "meta", message: "must be an object" },
    { line: 7, path: "isDisabled", message: "must be true or false" },
    { line: 8, path: "credits", message: "must be an object" },
  ]);
  expect(JSON.stringify(result)).not.toContain("acme_secret");
});

test("a row whose start is the whole key is rejected, and the key isn't stored", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  const key = "legacy-key-0123456789";
  const message = "This is the whole key. Enter only its first characters, or none.";
  expect(await importRows(team, keyspaceId, [{ hash: hashOf(key), start: key }])).toEqual({
    imported: 0,
    existing: 0,
    rejected: [{ line: 1, path: "start", message }],
  });
  const rows = [{ hash: hashOf(key), start: key.slice(0, -1) }];
  expect(await importRows(team, keyspaceId, rows)).toMatchObject({ imported: 1 });
});

test("a rejected row adds no consumer", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  const row = addRow({ externalId: "customer_42", expiresAt: "2020-01-01T00:00:00Z" });
  expect(await importRows(team, keyspaceId, [row])).toMatchObject({ imported: 0 });
  const { owner, path } = team;
  const { body } = await send(owner.secret, ["GET", `${path}/keyspaces/${keyspaceId}/consumers`]);
  expect(body.data).toEqual([]);
});

test("a consumer gets no more keys than it can have, counting those that it has", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  const max = issuedKeyLimits.maxKeysPerConsumer;
  const add = (count: number) =>
    importRows(
      team,
      keyspaceId,
      Array.from({ length: count }, () => addRow({ externalId: "customer_42" })),
    );
  expect(await add(max / 2)).toMatchObject({ imported: max / 2, rejected: [] });
  expect(await add(max / 2 - 1)).toMatchObject({ imported: max / 2 - 1, rejected: [] });
  expect(await add(3)).toMatchObject({
    imported: 1,
    rejected: [
      { line: 2, path: "externalId" },
      { line: 3, path: "externalId" },
    ],
  });
});

test("rows beyond the quota are rejected together, and nothing is imported", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  const rows = (count: number) => Array.from({ length: count }, () => addRow());
  await importRows(team, keyspaceId, rows(1_000));
  await expect(importRows(team, keyspaceId, rows(201))).rejects.toMatchObject({
    data: { code: "UNPROCESSABLE_CONTENT" },
  });
  expect(await importRows(team, keyspaceId, rows(200))).toMatchObject({ imported: 200 });
  const repeated = rows(1);
  await expect(importRows(team, keyspaceId, repeated)).rejects.toMatchObject({
    data: { code: "UNPROCESSABLE_CONTENT" },
  });
});

test("a row beyond the keys of a consumer doesn't count toward the quota", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  const rows = (count: number, settings: object) => Array.from({ length: count }, () => addRow(settings));
  const full = { externalId: "customer_42" };
  // In parts, because a request has a limited size.
  for (const _half of [1, 2])
    await importRows(team, keyspaceId, rows(issuedKeyLimits.maxKeysPerConsumer / 2, full));
  await importRows(team, keyspaceId, rows(199, {}));
  expect(await importRows(team, keyspaceId, [addRow(full), addRow()])).toMatchObject({
    imported: 1,
    rejected: [{ line: 1, path: "externalId" }],
  });
});

test("two concurrent imports of one file import each key once", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  const rows = Array.from({ length: 200 }, (_, index) => addRow({ externalId: `customer_${index % 7}` }));
  // In sessions of their own, because the calls of one session in one turn are sent together.
  const admin = { ...team, owner: await join(app, team, "admin") };
  const results = await Promise.all([
    importRows(team, keyspaceId, rows),
    importRows(admin, keyspaceId, rows.toReversed()),
  ]);
  expect(results.map(({ imported }) => imported).sort()).toEqual([0, 200]);
  expect(results.map(({ existing }) => existing).sort()).toEqual([0, 200]);
});

test("an imported key without a checksum, and one that has the prefix of API keys, are verified like others", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  const keys = ["a", "lk_not-an-api-key", "x".repeat(512)];
  await importRows(
    team,
    keyspaceId,
    keys.map((key) => addRow({ hash: hashOf(key) })),
  );
  for (const key of keys) expect(await verify(team, key)).toMatchObject({ code: "VALID", keyspaceId });
});

test("an import needs recent authentication", async () => {
  const team = await addTeam(app);
  const keyspaceId = await addKeyspace(team);
  await sql`
    update sessions set authenticated_at = clock_timestamp() - interval '901 seconds'
    where user_id = ${team.owner.userId}`.execute(app.owner);
  await expect(importRows(team, keyspaceId, [addRow()])).rejects.toMatchObject({
    data: { code: "FORBIDDEN" },
  });
  expect(await listKeys(team, keyspaceId)).toEqual([]);
  await team.owner.client.account.confirmPassword.mutate({ password });
  expect(await importRows(team, keyspaceId, [addRow()])).toMatchObject({ imported: 1 });
});
