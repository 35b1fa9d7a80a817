import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { openDatabase } from "@latchkey/db/connection";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Account,
  type CreatedKey,
  callProcedure,
  createKey,
  deleteKey,
  signUp,
} from "../support/account.ts";
import { callOpen } from "../support/open-call.ts";
import type { Place } from "../support/place.ts";
import { connectionTo, eventually, getPostmaster } from "../support/postmaster.ts";
import { createPreparedPlace } from "../support/prepared-place.ts";
import type { ProductNode } from "../support/product.ts";

// A key is used in every way that could leave a trace of it, and then looked for.

let place: Place;
let node: ProductNode;
let account: Account;
let created: CreatedKey;
/** What nobody but the key's owner may have: all of the secret behind the part that is shown in lists. */
let hidden: string;

beforeAll(async () => {
  place = await createPreparedPlace({ LOG_LEVEL: "debug" });
  node = await place.start();
  account = await signUp(node.baseUrl);
  created = await createKey(node.baseUrl, account, "canary");
  hidden = created.key.slice(12);
  await provoke();
});

afterAll(async () => {
  await place?.close();
});

async function provoke(): Promise<void> {
  const { baseUrl } = node;
  const { id, key } = created;
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  for (const path of [
    "/open/global/config",
    "/open/me",
    "/open/workspaces",
    `/open/${key}`,
    `/open/me?key=${key}`,
  ]) {
    await callOpen(baseUrl, key, path);
  }
  await fetch(`${baseUrl}/open/me`, { method: "POST", headers, body: `{"key": "${key}` });
  await fetch(`${baseUrl}/${key}?key=${key}`, { headers: { Cookie: `latchkey-session=${key}` } });
  await callOpen(baseUrl, `${key.slice(0, -1)}~`);
  const { cookie } = account;
  // Pasted where it does not belong: not a name, not an id, not a procedure, not a search.
  const misplaced = { name: "x".repeat(200), description: key, userId: key };
  await callProcedure(baseUrl, { path: "apiKeys.create", kind: "mutation", input: misplaced, cookie });
  await callProcedure(baseUrl, { path: "apiKeys.delete", kind: "mutation", input: { id: key }, cookie });
  await callProcedure(baseUrl, { path: `apiKeys.${key}`, kind: "query", cookie });
  await callProcedure(baseUrl, { path: "apiKeys.list", kind: "query", input: { search: key }, cookie });
  await callProcedure(baseUrl, {
    path: "session.signIn",
    kind: "mutation",
    input: { email: account.email, password: key },
  });
  expect((await place.command(["key", "delete", key])).stdout).not.toContain(hidden);
  // With Postgres gone under it, the statements that fail carry the key's digest and the search.
  process.kill(await getPostmaster(place.cluster), "SIGKILL");
  await Promise.all([
    callOpen(baseUrl, key),
    callProcedure(baseUrl, { path: "apiKeys.list", kind: "query", input: { search: key }, cookie }),
  ]);
  await eventually("it is back", async () => (await callOpen(baseUrl, key)).status === 200, 20_000);
  // Each connection of a pool finds out for itself that its Postgres is gone.
  await eventually(
    "the key is deleted",
    () =>
      deleteKey(baseUrl, account, id).then(
        () => true,
        () => false,
      ),
    20_000,
  );
  expect((await callOpen(baseUrl, key)).status).toBe(403);
}

test("no table has it", async () => {
  const db = openDatabase(await connectionTo(place.cluster), { applicationName: "test", role: "login" });
  try {
    const tables = await db.introspection.getTables();
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["api_keys", "key_counters", "users"]),
    );
    for (const { name } of tables) {
      const rows = await db
        .withTables<Record<string, Record<string, unknown>>>()
        .selectFrom(name)
        .selectAll()
        .execute();
      const text = rows.flatMap((row) => Object.values(row).map(toText)).join("\n");
      if (name === "api_keys") expect(text).toContain(created.key.slice(0, 9));
      // Its details are in JSON columns.
      if (name === "audit_events") expect(text).toContain("Ada Lovelace’s workspace");
      expect(text, name).not.toContain(hidden);
    }
  } finally {
    await db.destroy();
  }
});

/** A value as text: bytes as the characters that they might be, JSON with everything in it. */
function toText(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString("latin1");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

test("nothing that the node printed has it, at its most talkative and in its errors", () => {
  expect(node.output()).toContain('"level":50');
  expect(node.output()).not.toContain(hidden);
});

test("no file of the data directory has it: not Postgres's log, not its write-ahead log, nothing else", async () => {
  await node.stop();
  const files = await readdir(place.dataDirectory, { recursive: true, withFileTypes: true });
  const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
  expect(paths).toContain(join(place.cluster, "postgres.log"));
  const traces: string[] = [];
  for (const path of paths) if ((await readFile(path)).includes(hidden)) traces.push(path);
  expect(traces).toEqual([]);
});
