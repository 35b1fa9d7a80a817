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
import { connectionTo, eventually, getPostmaster } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { ProductNode } from "../support/product.ts";
import type { TestInstance } from "../support/test-instance.ts";

// Uses an API key and an issued key in every way that could leave a trace of them, and then searches for them.

let instance: TestInstance;
let node: ProductNode;
let account: Account;
let created: CreatedKey;
/** The secret parts of both keys: everything after the first characters, which lists show. */
let hidden: readonly string[];

beforeAll(async () => {
  instance = await createPreparedInstance({ LOG_LEVEL: "debug" });
  node = await instance.start();
  account = await signUp(node.baseUrl);
  created = await createKey(node.baseUrl, account, "canary");
  const issued = await issueKey();
  hidden = [created.key.slice(12), issued.slice(14)];
  await useIssuedKeyEverywhere(issued);
  await useKeyEverywhere();
});

afterAll(async () => {
  await instance?.close();
});

async function send(
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(`${node.baseUrl}/open${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${created.key}`, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Record<string, unknown>; // The open API's format.
}

let keysPath: string;

async function issueKey(): Promise<string> {
  const workspace = await send("/workspaces", { name: "Canaries" });
  const keyspaces = `/workspaces/${workspace.id}/keyspaces`;
  const keyspace = await send(keyspaces, { name: "Production", prefix: "acme" });
  keysPath = `${keyspaces}/${keyspace.id}/keys`;
  const { key } = await send(keysPath, { name: "canary" });
  if (typeof key !== "string") throw new Error("No key was issued.");
  return key;
}

async function useIssuedKeyEverywhere(key: string): Promise<void> {
  expect(await send("/keys/verify", { key })).toMatchObject({ code: "VALID" });
  for (const body of [
    { name: key },
    { externalId: key },
    { name: "x", meta: { key } },
    { name: "x", permissions: [key] },
  ])
    expect(await send(keysPath, body)).toHaveProperty("error");
  await send(keysPath, { name: "named" }, { "Idempotency-Key": key, "X-Request-Id": key });
  await send(`/${key}?key=${key}`, { key }, { "User-Agent": key, Authorization: `Bearer ${key}` });
  await callOpen(node.baseUrl, created.key, `${keysPath}/${key}?search=${key}`);
  await callOpen(node.baseUrl, created.key, `${keysPath}?search=${key}`);
}

async function useKeyEverywhere(): Promise<void> {
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
  // The key in wrong places: as a name, an ID, a procedure and a search text.
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
  expect((await instance.command(["key", "delete", key])).stdout).not.toContain(hidden[0]);
  // While Postgres is killed, the failing statements contain the key's digest and the search text.
  process.kill(await getPostmaster(instance.cluster), "SIGKILL");
  await Promise.all([
    callOpen(baseUrl, key),
    callProcedure(baseUrl, { path: "apiKeys.list", kind: "query", input: { search: key }, cookie }),
  ]);
  await eventually("it is back", async () => (await callOpen(baseUrl, key)).status === 200);
  // Each connection of a pool detects separately that its Postgres has ended.
  await eventually("the key is deleted", () =>
    deleteKey(baseUrl, account, id).then(
      () => true,
      () => false,
    ),
  );
  expect((await callOpen(baseUrl, key)).status).toBe(403);
}

test("no table contains them", async () => {
  const db = openDatabase(await connectionTo(instance.cluster), { applicationName: "test", role: "login" });
  try {
    const tables = await db.introspection.getTables();
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["api_keys", "key_counters", "users"]),
    );
    for (const { schema, name } of tables) {
      const rows = await db
        .withTables<Record<string, Record<string, unknown>>>()
        .selectFrom(`${schema}.${name}`)
        .selectAll()
        .execute();
      const text = rows.flatMap((row) => Object.values(row).map(toText)).join("\n");
      if (name === "api_keys") expect(text).toContain(created.key.slice(0, 9));
      // The details are in JSON columns.
      if (name === "audit_events") expect(text).toContain("Ada Lovelace’s workspace");
      for (const secret of hidden) expect(text, name).not.toContain(secret);
    }
  } finally {
    await db.destroy();
  }
});

/** Returns a value as text: bytes as characters, JSON with all of its members. */
function toText(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString("latin1");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

test("the node's output doesn't contain them, with all logs enabled and in its errors", () => {
  expect(node.output()).toContain('"level":50');
  for (const secret of hidden) expect(node.output()).not.toContain(secret);
});

test("no file of the data directory contains them, including Postgres's log and write-ahead log", async () => {
  await node.stop();
  const files = await readdir(instance.dataDirectory, { recursive: true, withFileTypes: true });
  const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
  expect(paths).toContain(join(instance.cluster, "postgres.log"));
  const traces: string[] = [];
  for (const path of paths) {
    const content = await readFile(path);
    if (hidden.some((secret) => content.includes(secret))) traces.push(path);
  }
  expect(traces).toEqual([]);
});
