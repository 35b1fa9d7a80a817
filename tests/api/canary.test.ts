import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { openTestPool } from "@latchkey/db/testing/test-connection";
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
import { startWebhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";

// Uses an API key and the secrets of an issued key in every way that could leave a trace of them, and then searches for them.

let instance: TestInstance;
let node: ProductNode;
let account: Account;
let created: CreatedKey;
/** The secret parts of all secrets: everything after the first characters, which lists show. */
let hidden: readonly string[];
/** Responses that must not contain a secret, and the results of commands. */
const shown: string[] = [];
let backup: string;
let receiver: WebhookReceiver;

beforeAll(async () => {
  receiver = await startWebhookReceiver();
  instance = await createPreparedInstance({ LOG_LEVEL: "debug", WEBHOOK_NETWORKS: "127.0.0.0/8" });
  node = await instance.start();
  account = await signUp(node.baseUrl);
  created = await createKey(node.baseUrl, account, "canary");
  const issued = await issueKey();
  await useIssuedKeyEverywhere(issued.key);
  const { key: rotated } = await send(`${keysPath}/${issued.id}/rotate`, { overlapSeconds: 3_600 });
  if (typeof rotated !== "string") throw new Error("The key was not rotated.");
  await useIssuedKeyEverywhere(rotated);
  // The former secret is valid for an hour.
  await useIssuedKeyEverywhere(issued.key);
  const together = await rotateTogether();
  for (const secret of together.slice(-1)) await useIssuedKeyEverywhere(secret);
  hidden = [created.key.slice(12), ...[issued.key, rotated, ...together].map((secret) => secret.slice(14))];
  await readLists(issued.id);
  backup = join(instance.directory, "latchkey.backup");
  shown.push((await instance.command(["backup", backup])).stdout);
  await useKeyEverywhere();
});

afterAll(async () => {
  await instance?.close();
  await receiver?.stop();
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

let workspaceId: string;
let keyspacePath: string;
let keysPath: string;

async function issueKey(): Promise<CreatedKey> {
  const workspace = await send("/workspaces", { name: "Canaries" });
  workspaceId = String(workspace.id);
  const { cookie } = account;
  // It receives every audit event of the workspace.
  const input = { workspaceId, url: receiver.url, actions: null };
  const webhook = { path: "webhooks.create", kind: "mutation", input, cookie } as const;
  expect(await callProcedure(node.baseUrl, webhook)).toMatchObject({ status: 200 });
  const keyspaces = `/workspaces/${workspaceId}/keyspaces`;
  const keyspace = await send(keyspaces, { name: "Production", prefix: "acme" });
  keyspacePath = `${keyspaces}/${keyspace.id}`;
  keysPath = `${keyspacePath}/keys`;
  const { id, key } = await send(keysPath, { name: "canary", externalId: "canary" });
  if (typeof id !== "string" || typeof key !== "string") throw new Error("No key was issued.");
  return { id, key };
}

/** Rotates all keys of the consumer, and sends the request again as if the response had been lost. Returns both secrets. */
async function rotateTogether(): Promise<readonly string[]> {
  const body = { externalId: "canary", overlapSeconds: 3_600 };
  const rotate = async () =>
    (await send(`${keysPath}/rotate`, body, { "Idempotency-Key": "canaries" })) as {
      readonly rotated: readonly { readonly key: string }[];
    };
  const secrets = [await rotate(), await rotate()].flatMap(({ rotated }) => rotated.map(({ key }) => key));
  expect(new Set(secrets).size).toBe(2);
  return secrets;
}

async function useIssuedKeyEverywhere(key: string): Promise<void> {
  const verified = await send("/keys/verify", { key });
  expect(verified).toMatchObject({ code: "VALID" });
  const batch = {
    verifications: [{ key }, { key, cost: 0 }, { key, permissions: "admin" }, { key: `${key}~` }],
  };
  const verifiedBatch = await send("/keys/verify-batch", batch);
  expect(verifiedBatch).toMatchObject({ data: [{ code: "VALID" }, { code: "VALID" }, {}, {}] });
  shown.push(JSON.stringify(verified), JSON.stringify(verifiedBatch));
  // Rejected requests, also with the key in the wrong place.
  for (const verifications of [
    [{ key, limits: [{ name: "unknown" }] }],
    [{ key, permissions: `${key} AND` }],
    [{ key, tags: [key] }],
    [{ key, keyspaceId: key }],
    [{ [key]: key }],
  ])
    expect(await send("/keys/verify-batch", { verifications })).toHaveProperty("error");
  await send("/keys/verify-batch", { verifications: [{ key }] }, { "Idempotency-Key": key });
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
  for (const body of [
    { action: "disable", keyIds: [key] },
    { action: "disable", externalId: key },
    { action: key, externalId: "none" },
  ])
    await send(`${keysPath}/bulk`, body);
  for (const body of [{ keyIds: [key] }, { externalId: key }, { externalId: "none", overlapSeconds: key }])
    await send(`${keysPath}/rotate`, body);
  await send(`${keysPath}/${key}/rotate`, { overlapSeconds: 0 });
  await send(`${keysPath}/${key}/credits`, { set: 1 });
  for (const options of [[], ["--permissions", "admin"], ["--permissions", "AND"], ["--keyspace", key]]) {
    const command = ["verify", "--key-stdin", "--workspace", workspaceId, ...options];
    for (const form of [[], ["--json"]]) {
      const { stdout, stderr } = await instance.command([...form, ...command], `${key}\n`);
      shown.push(stdout, stderr);
    }
  }
  // The key in the place of an ID, of a command and of a file.
  const keyspaceId = keyspacePath.split("/").at(-1) ?? "";
  for (const command of [
    ["issued-key", "disable", key],
    ["import", "keys", key, "--keyspace", keyspaceId, "--format", "csv"],
    ["issued-key", key],
    ["help", "migrate", key],
    [key],
  ]) {
    const { status, stdout, stderr } = await instance.command(command);
    expect([command, status]).toEqual([command, 2]);
    shown.push(stdout, stderr);
  }
}

/** Reads every list that shows keys or what was done with them. */
async function readLists(issuedKeyId: string): Promise<void> {
  const { baseUrl } = node;
  const from = new Date(Date.now() - 86_400_000).toISOString();
  const to = new Date(Date.now() + 86_400_000).toISOString();
  const usage = `usage?from=${from}&to=${to}&bucket=day`;
  await eventually("the verifications are in the statistics", async () => {
    const path = `/open${keyspacePath}/${usage}&groupBy=outcome`;
    return (await callOpen(baseUrl, created.key, path)).body.includes("VALID");
  });
  for (const path of [
    keysPath,
    `${keysPath}/${issuedKeyId}`,
    `${keysPath}/${issuedKeyId}/rejections`,
    `${keyspacePath}/consumers`,
    `${keyspacePath}/${usage}&groupBy=key`,
    `${keyspacePath}/${usage}&groupBy=tag`,
    `${keyspacePath}/${usage}&groupBy=externalId`,
    `${keyspacePath}/${usage}&groupBy=outcome`,
    `/workspaces/${workspaceId}/audit-events?limit=100`,
    "/me/notices",
  ]) {
    const { status, body } = await callOpen(baseUrl, created.key, `/open${path}`);
    expect([path, status]).toEqual([path, 200]);
    shown.push(body);
  }
  await readProcedures(issuedKeyId);
  await readWebhookMessages();
  await readExports();
}

/** Reads the messages of the webhook. */
async function readWebhookMessages(): Promise<void> {
  const isSent = (action: string) => receiver.messages.some(({ body }) => body.includes(`"${action}"`));
  for (const action of ["keyspace.created", "issued-key.created", "issued-key.rotated"])
    await eventually(`${action} was sent to the webhook`, async () => isSent(action));
  shown.push(...receiver.messages.map((message) => JSON.stringify(message)));
}

/** Reads the lists, the overview and the statistics of the web app. */
async function readProcedures(id: string): Promise<void> {
  const keyspaceId = keyspacePath.split("/").at(-1);
  // In seconds since the epoch.
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600;
  const buckets = { starts: [hour - 3_600, hour], to: hour + 3_600 };
  for (const [path, input] of [
    ["issuedKeys.list", { workspaceId, keyspaceId }],
    ["issuedKeys.get", { workspaceId, keyspaceId, id }],
    ["issuedKeys.changes", { workspaceId, keyspaceId, id }],
    ["consumers.list", { workspaceId, keyspaceId }],
    ["keyspaces.list", { workspaceId }],
    ["audit.list", { workspaceId }],
    ["notices.list", {}],
    ["overview.usage", { workspaceId, ...buckets }],
    ["overview.keys", { workspaceId, ...buckets }],
    ["overview.verifications", { workspaceId, ...buckets }],
    ["keyspaceUsage.usage", { workspaceId, keyspaceId, ...buckets }],
    ["keyspaceUsage.busiest", { workspaceId, keyspaceId, ...buckets }],
    ["keyspaceUsage.recent", { workspaceId, keyspaceId, ids: id }],
    ["keyspaceUsage.keyspaceUses", { workspaceId, ids: keyspaceId }],
    ["keyspaceUsage.keyUsage", { workspaceId, keyspaceId, id, ...buckets }],
    ["keyspaceUsage.consumerUsage", { workspaceId, keyspaceId, externalId: "canary", ...buckets }],
    ["keyspaceUsage.latestOutcome", { workspaceId, keyspaceId }],
    ["keyspaceUsage.rejections", { workspaceId, keyspaceId, id }],
  ] as const) {
    const { cookie } = account;
    const { status, data } = await callProcedure(node.baseUrl, { path, kind: "query", input, cookie });
    expect([path, status]).toEqual([path, 200]);
    shown.push(JSON.stringify(data));
  }
}

/** Reads the files that the web app downloads. */
async function readExports(): Promise<void> {
  // In seconds since the epoch.
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600;
  const period = { starts: [hour - 3_600], to: hour + 3_600 };
  const usage = ["key", "externalId", "outcome", "tag"].map((groupBy) => [
    "verifications",
    { workspaceId, keyspaceId: null, groupBy, ...period },
  ]);
  const events = ["csv", "ndjson"].map((format) => ["audit-events", { workspaceId, format }]);
  for (const [name, body] of [...usage, ...events]) {
    const response = await fetch(`${node.baseUrl}/exports/${name}`, {
      method: "POST",
      headers: {
        Cookie: account.cookie,
        Origin: node.baseUrl,
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/json",
      },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    expect([name, response.status], text).toEqual([name, 200]);
    shown.push(text);
  }
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
  const { stdout, stderr } = await instance.command(["key", "delete", key]);
  shown.push(stdout, stderr);
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
  const db = openTestPool(await connectionTo(instance.cluster), { applicationName: "test", role: "login" });
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

test("no response, list or output of a command contains them", () => {
  const text = shown.join("\n");
  expect(text).toContain("issued-key.rotated");
  expect(text).toContain("VALID");
  for (const secret of hidden) expect(text).not.toContain(secret);
});

test("a backup doesn't contain them", async () => {
  const text = gunzipSync(await readFile(backup)).toString("latin1");
  expect(text).toContain(created.key.slice(0, 9));
  for (const secret of hidden) expect(text).not.toContain(secret);
});

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
