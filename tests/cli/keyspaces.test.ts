import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Account, callProcedure, signUp } from "../support/account.ts";
import { getMembership } from "../support/membership.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// Keyspaces and issued keys, which the `latchkey` command manages while a server verifies the keys.

let directory: string;
let instance: TestInstance;
let baseUrl: string;
let account: Account;
let apiKey: string;
let workspaceId: string;
let keyspaceId: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-test-"));
  instance = await createPreparedInstance();
  ({ baseUrl } = await instance.startInProcess());
  account = await signUp(baseUrl);
  ({ workspaceId } = await getMembership(baseUrl, account));
  const created = expectResult(await run(["key", "create", "--user", account.email, "--name", "Verifier"]));
  apiKey = String(created.key);
});
afterAll(async () => {
  await instance?.close();
  await rm(directory, { recursive: true });
});
beforeEach(async () => {
  const options = ["--workspace", workspaceId, "--name", "API", "--prefix", "acme"];
  keyspaceId = String(expectResult(await run(["keyspace", "create", ...options])).id);
});

const run = (command: readonly string[]) => instance.command(["--json", ...command]);

/** Verifies a key through the open API. */
async function verify(key: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${baseUrl}/open/keys/verify`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
    body: JSON.stringify({ key }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>; // The open API returns an object.
}

async function writeKeyFile(name: string, text: string): Promise<string> {
  const file = join(directory, name);
  await writeFile(file, text);
  return file;
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

test("creates and lists keyspaces", async () => {
  const listed = expectResult(await run(["keyspace", "list", "--workspace", workspaceId])).data;
  expect(listed).toContainEqual(
    expect.objectContaining({ id: keyspaceId, workspaceId, name: "API", prefix: "acme", keyCount: 0 }),
  );
  const text = expectText(await instance.command(["keyspace", "list", "--workspace", workspaceId]));
  expect(text).toContain(keyspaceId);
  const options = ["--workspace", workspaceId, "--name", "API", "--prefix", "lk"];
  expectFailure(await run(["keyspace", "create", ...options]), {
    status: 2,
    code: "BAD_REQUEST",
    message: /--prefix/,
  });
});

test("issues, rotates, disables, enables and deletes a key, which applies to the next verification", async () => {
  const settings = ["--external-id", "customer_42", "--permission", "documents.*", "--credits", "10"];
  const lifetime = ["--name", "Acme", "--expires-in", "30d", "--ip", "203.0.113.0/24"];
  const issued = expectResult(
    await run(["issued-key", "create", "--keyspace", keyspaceId, ...settings, ...lifetime]),
  );
  expect(issued).toEqual({ id: expect.stringMatching(/^ikey_/), key: expect.stringMatching(/^acme_/) });
  expect(await verify(String(issued.key))).toMatchObject({ code: "FORBIDDEN" });
  const plain = expectResult(await run(["issued-key", "create", "--keyspace", keyspaceId, ...settings]));
  const [id, former] = [String(plain.id), String(plain.key)];
  expect(await verify(former)).toMatchObject({
    code: "VALID",
    keyId: id,
    externalId: "customer_42",
    permissions: ["documents.*"],
    credits: { remaining: 9 },
  });
  expect(expectResult(await run(["issued-key", "disable", id]))).toMatchObject({ status: "disabled" });
  expect(await verify(former)).toMatchObject({ code: "DISABLED" });
  expect(expectResult(await run(["issued-key", "enable", id]))).toMatchObject({ status: "active" });
  const rotated = expectResult(await run(["issued-key", "rotate", id, "--overlap", "0s"]));
  expect(await verify(former)).toMatchObject({ code: "NOT_FOUND" });
  expect(await verify(String(rotated.key))).toMatchObject({ code: "VALID", keyId: id });
  expect(expectResult(await run(["issued-key", "delete", id]))).toEqual({ id });
  expect(await verify(String(rotated.key))).toMatchObject({ code: "NOT_FOUND" });
  for (const command of ["rotate", "disable", "enable", "delete"])
    expectFailure(await run(["issued-key", command, id]), {
      status: 1,
      code: "NOT_FOUND",
      message: "There is no such issued key.",
    });
});

/** Issues two keys of one consumer. */
async function issueTwo(): Promise<readonly { readonly id: string; readonly key: string }[]> {
  const keys = [];
  for (let count = 0; count < 2; count += 1) {
    const args = ["--keyspace", keyspaceId, "--external-id", "customer_7"];
    const { id, key } = expectResult(await run(["issued-key", "create", ...args]));
    keys.push({ id: String(id), key: String(key) });
  }
  return keys;
}

const unknownKey = "ikey_01h455vb4pex5vsknk084sn02q";

const codesOf = async (keys: readonly unknown[]) =>
  await Promise.all(keys.map(async (key) => (await verify(String(key))).code));

test.each([
  ["IDs", (ids: readonly string[]) => [...ids, unknownKey], [unknownKey]],
  ["the external ID of their consumer", () => ["--external-id", "customer_7", "--keyspace", keyspaceId], []],
])("disables, enables, rotates and deletes several keys by %s", async (_name, choose, notFound) => {
  const keys = await issueTwo();
  const ids = keys.map(({ id }) => id).sort();
  const secrets = keys.map(({ key }) => key);
  const change = async (command: string, ...options: readonly string[]) =>
    expectResult(await run(["issued-key", command, ...choose(ids), ...options]));
  await run(["issued-key", "disable", String(ids[0])]);
  expect(await change("disable")).toEqual({ changed: [ids[1]], unchanged: [ids[0]], notFound });
  expect(await codesOf(secrets)).toEqual(["DISABLED", "DISABLED"]);
  expect(await change("enable")).toEqual({ changed: ids, unchanged: [], notFound });
  const rotated = await change("rotate", "--overlap", "0s");
  const of = (id: string) => expect.objectContaining({ id, key: expect.stringMatching(/^acme_/) });
  expect(rotated).toEqual({ rotated: ids.map(of), notFound });
  expect(await codesOf(secrets)).toEqual(["NOT_FOUND", "NOT_FOUND"]);
  const latest = (rotated.rotated as readonly { readonly key: string }[]).map(({ key }) => key); // Expected above.
  expect(await codesOf(latest)).toEqual(["VALID", "VALID"]);
  expect(await change("delete")).toEqual({ changed: ids, unchanged: [], notFound });
  expect(await codesOf(latest)).toEqual(["NOT_FOUND", "NOT_FOUND"]);
  expectFailure(await run(["issued-key", "delete", ...choose(ids)]), {
    status: 1,
    code: "NOT_FOUND",
    message: /^(There are no such issued keys|The keyspace has no keys with this external ID)\.$/,
  });
});

test("prints how many keys were changed, and each new secret once", async () => {
  const [one, two] = (await issueTwo()).map(({ id }) => id).sort();
  const change = async (...args: readonly string[]) =>
    expectText(await instance.command(["issued-key", ...args, String(one), String(two), unknownKey]));
  expect(await change("disable")).toMatch(
    new RegExp(`^Disabled +2\\nAlready disabled +0\\nNot found +${unknownKey}\\n$`),
  );
  const secret = "acme_[0-9A-Za-z]+";
  expect(await change("rotate")).toMatch(
    new RegExp(`^Rotated +2\\nKeys +${one} +${secret}\\n +${two} +${secret}\\nNot found +${unknownKey}\\n$`),
  );
});

test("changes only keys of one keyspace at a time", async () => {
  const [first] = await issueTwo();
  const options = ["--workspace", workspaceId, "--name", "Other", "--prefix", "other"];
  const { id } = expectResult(await run(["keyspace", "create", ...options]));
  const other = expectResult(await run(["issued-key", "create", "--keyspace", String(id)]));
  expectFailure(await run(["issued-key", "disable", String(first?.id), String(other.id)]), {
    status: 1,
    code: "BAD_REQUEST",
    message: "The keys belong to several keyspaces. Give keys of one keyspace at a time.",
  });
});

test.each([
  ["neither IDs nor an external ID", []],
  ["both IDs and an external ID", [unknownKey, "--external-id", "customer_7"]],
  ["an external ID without a keyspace", ["--external-id", "customer_7"]],
])("rejects a change with %s", async (_name, args) => {
  expectFailure(await run(["issued-key", "rotate", ...args]), {
    status: 2,
    code: "BAD_REQUEST",
    message: "Give the IDs of keys, or --external-id and --keyspace.",
  });
});

test("issues a key with limits, refilled credits and metadata", async () => {
  const limits = ["--limit", "requests=2/1h", "--limit", "exports=5/30d,named"];
  const others = ["--credits", "7", "--refill", "5000/monthly-31", "--meta", '{"plan":"pro"}'];
  const { id, key } = expectResult(
    await run(["issued-key", "create", "--keyspace", keyspaceId, ...limits, ...others]),
  );
  expect(await verify(String(key))).toMatchObject({
    code: "VALID",
    meta: { plan: "pro" },
    credits: { remaining: 6 },
    limits: [{ name: "requests", quota: 2, remaining: 1 }],
  });
  const path = `/open/workspaces/${workspaceId}/keyspaces/${keyspaceId}/keys/${id}`;
  const response = await fetch(baseUrl + path, { headers: { Authorization: `Bearer ${apiKey}` } });
  expect(await response.json()).toMatchObject({
    credits: { refill: { amount: 5_000, interval: "monthly", day: 31 } },
    limits: [
      { name: "requests", windowSeconds: 3_600, appliesAlways: true },
      { name: "exports", windowSeconds: 2_592_000, appliesAlways: false },
    ],
  });
});

test("creates a keyspace whose keys have its defaults", async () => {
  const identity = ["--workspace", workspaceId, "--name", "Partners", "--prefix", "acme"];
  const defaults = ["--default-lifetime", "90d", "--default-permission", "documents.read"];
  const spending = [
    "--default-limit",
    "requests=100/60s",
    "--default-credits",
    "9",
    "--default-refill",
    "9/daily",
  ];
  const created = expectResult(await run(["keyspace", "create", ...identity, ...defaults, ...spending]));
  expect(created).toMatchObject({
    defaultLifetimeDays: 90,
    defaultPermissions: ["documents.read"],
    defaultLimits: [{ name: "requests", quota: 100, windowSeconds: 60, appliesAlways: true }],
    defaultCredits: { remaining: 9, refill: { amount: 9, interval: "daily", day: null } },
  });
  const text = expectText(
    await instance.command(["keyspace", "create", ...identity, ...defaults, ...spending]),
  );
  expect(text).toMatch(/Default lifetime +90d\n/);
  expect(text).toMatch(/Default limits +requests 100\/60s\n/);
  expect(text).toMatch(/Default credits +9, refilled to 9 daily\n/);
  const { key } = expectResult(await run(["issued-key", "create", "--keyspace", String(created.id)]));
  expect(await verify(String(key))).toMatchObject({ code: "VALID", credits: { remaining: 8 } });
});

test.each([
  [["--limit", "requests:100"], /--limit: "requests:100" is not valid. Expected <name>=<quota>\/<window>/],
  [["--limit", "a,b=1/60s"], /--limit: "a,b=1\/60s" is not valid. Expected <name>=<quota>\/<window>/],
  [["--limit", "requests=0/60s"], /--limit: "requests=0\/60s" is not valid. Allow at least 1/],
  [["--limit", "a=1/60s", "--limit", "a=2/1h,named"], /--limit: .*Use each name once/],
  [
    ["--credits", "5", "--refill", "10/weekly"],
    /--refill: "10\/weekly" is not valid. Expected <amount>\/daily/,
  ],
  [["--credits", "5", "--refill", "10/monthly-32"], /--refill: .*Use at most 31/],
  [["--refill", "10/daily"], /--refill: .*Give --credits too/],
  [["--meta", "[1]"], /--meta: "\[1\]" is not valid. Expected a JSON object/],
  [["--meta", "plan"], /--meta: "plan" is not valid. Expected a JSON object/],
])("issues no key with %j", async (options, message) => {
  expectFailure(await run(["issued-key", "create", "--keyspace", keyspaceId, ...options]), {
    status: 2,
    code: "BAD_REQUEST",
    message,
  });
});

test("creates no keyspace with a default refill but no credits", async () => {
  const identity = ["--workspace", workspaceId, "--name", "Partners", "--prefix", "acme"];
  for (const [option, value] of [
    ["--default-refill", "10/daily"],
    ["--default-lifetime", "0d"],
  ] as const)
    expectFailure(await run(["keyspace", "create", ...identity, option, value]), {
      status: 2,
      code: "BAD_REQUEST",
      message: new RegExp(option),
    });
});

test("verifies a key, and spends only with a cost", async () => {
  const settings = ["--permission", "documents.read", "--credits", "10", "--ip", "203.0.113.0/24"];
  const issued = expectResult(await run(["issued-key", "create", "--keyspace", keyspaceId, ...settings]));
  const verifyKey = (options: readonly string[], key = String(issued.key)) =>
    instance.command(["--json", "verify", "--key-stdin", "--workspace", workspaceId, ...options], `${key}\n`);
  const inRange = ["--client-ip", "203.0.113.7"];
  expect(expectResult(await verifyKey([]))).toMatchObject({ valid: false, code: "FORBIDDEN" });
  expect(expectResult(await verifyKey(inRange))).toMatchObject({
    valid: true,
    keyId: issued.id,
    credits: { remaining: 10 },
  });
  const query = [...inRange, "--permissions", "documents.read AND admin"];
  expect(expectResult(await verifyKey(query))).toMatchObject({ code: "INSUFFICIENT_PERMISSIONS" });
  const spending = [...inRange, "--cost", "4", "--keyspace", keyspaceId];
  expect(expectResult(await verifyKey(spending))).toMatchObject({ valid: true, credits: { remaining: 6 } });
  expect(expectResult(await verifyKey(inRange, "acme_unknown"))).toMatchObject({ code: "NOT_FOUND" });
  expect(expectResult(await verifyKey(inRange, apiKey))).toMatchObject({ valid: true, keyspaceId: null });
  const invalid = await verifyKey(["--permissions", "documents.read AND"]);
  expectFailure(invalid, { status: 2, code: "BAD_REQUEST", message: /--permissions/ });
});

test("verifies a key with named limits, and reports an unknown one with its position", async () => {
  const limitOf = (name: string) => ({ name, quota: 10, windowSeconds: 3_600, appliesAlways: false });
  const hash = sha256("key-with-limits").toString("hex");
  const row = { hash, limits: [limitOf("exports"), limitOf("imports")] };
  const file = await writeKeyFile("limits.ndjson", JSON.stringify(row));
  expectResult(await run(["import", "keys", file, "--keyspace", keyspaceId]));
  const verifyKey = (...options: readonly string[]) =>
    instance.command(
      ["--json", "verify", "--key-stdin", "--workspace", workspaceId, ...options],
      "key-with-limits\n",
    );
  expect(expectResult(await verifyKey("--cost", "1"))).toMatchObject({ valid: true, limits: [] });
  const both = ["--limit", "exports=4", "--limit", "imports"];
  expect(expectResult(await verifyKey(...both, "--cost", "1"))).toMatchObject({
    valid: true,
    limits: [
      { name: "exports", remaining: 6 },
      { name: "imports", remaining: 9 },
    ],
  });
  const unknown = await verifyKey("--limit", "exports=4", "--limit", "emails", "--cost", "1");
  const message = "--limit 2: The key and its consumer have no limit with this name.";
  expectFailure(unknown, { status: 1, code: "BAD_REQUEST", message });
  expect(expectResult(await verifyKey("--limit", "exports"))).toMatchObject({ limits: [{ remaining: 6 }] });
  for (const options of [
    ["--limit", "exports=x"],
    ["--limit", "exports", "--limit", "exports"],
  ])
    expectFailure(await verifyKey(...options), { status: 2, code: "BAD_REQUEST", message: /--limit/ });
});

test("imports keys of any form from CSV, reports rejected rows, and changes nothing when it is repeated", async () => {
  const keys = ["old-system-key", "x".repeat(512), "ключ с пробелом"];
  const [hex, base64, other] = keys.map(sha256);
  const file = await writeKeyFile(
    "keys.csv",
    [
      "hash,start,name,externalId,permissions,credits,isDisabled",
      `${hex?.toString("hex")},old-sy,Old,customer_1,documents.read admin,5,`,
      `${base64?.toString("base64")},,,,,,`,
      "not-a-hash,,,,,,",
      `${other?.toString("hex")},,,customer_1,,,true`,
      `${sha256("wrong").toString("hex")},,,,documents.*.read,,`,
    ].join("\n"),
  );
  const rejected = [
    { line: 4, path: "hash", message: expect.stringContaining("SHA-256") },
    { line: 6, path: "permissions.0", message: expect.stringContaining("documents.read") },
  ];
  const command = ["import", "keys", file, "--keyspace", keyspaceId];
  expect(expectResult(await run(command))).toEqual({ imported: 3, existing: 0, rejected });
  expect(await verify("old-system-key")).toMatchObject({
    code: "VALID",
    name: "Old",
    externalId: "customer_1",
    permissions: ["documents.read", "admin"],
    credits: { remaining: 4 },
  });
  expect(await verify(keys[1] ?? "")).toMatchObject({ code: "VALID", externalId: null });
  expect(await verify(keys[2] ?? "")).toMatchObject({ code: "DISABLED" });
  expect(expectResult(await run(command))).toEqual({ imported: 0, existing: 3, rejected });
  // A repeated import doesn't undo what happened since.
  expect(await verify("old-system-key")).toMatchObject({ credits: { remaining: 3 } });
  const text = expectText(await instance.command(command));
  expect(text).toContain("line 4: hash: Enter the SHA-256 of the key, in hexadecimal, base64 or base64url.");
});

test("imports NDJSON, continues an interrupted import, and rejects keys of another keyspace", async () => {
  const keys = Array.from({ length: 2_500 }, () => randomBytes(16).toString("hex"));
  const toLine = (key: string) =>
    JSON.stringify({ hash: sha256(key).toString("hex"), name: key.slice(0, 4) });
  const half = await writeKeyFile("half.ndjson", keys.slice(0, 1_250).map(toLine).join("\n"));
  const whole = await writeKeyFile("whole.jsonl", `${keys.map(toLine).join("\n")}\n`);
  const importInto = (file: string, id: string) => run(["import", "keys", file, "--keyspace", id]);
  expect(expectResult(await importInto(half, keyspaceId))).toEqual({
    imported: 1_250,
    existing: 0,
    rejected: [],
  });
  expect(expectResult(await importInto(whole, keyspaceId))).toEqual({
    imported: 1_250,
    existing: 1_250,
    rejected: [],
  });
  const listed = expectResult(await run(["keyspace", "list", "--workspace", workspaceId])).data;
  expect(listed).toContainEqual(expect.objectContaining({ id: keyspaceId, keyCount: 2_500 }));
  const options = ["--workspace", workspaceId, "--name", "Other", "--prefix", "other"];
  const otherId = String(expectResult(await run(["keyspace", "create", ...options])).id);
  const result = expectResult(await importInto(half, otherId));
  expect(result).toMatchObject({ imported: 0, existing: 0 });
  expect(result.rejected).toHaveLength(1_250);
  const log = await callProcedure(baseUrl, {
    path: "audit.list",
    kind: "query",
    cookie: account.cookie,
    input: { workspaceId },
  });
  expect(log.data).toMatchObject({
    items: expect.arrayContaining([
      expect.objectContaining({ action: "keyspace.keys-imported", after: { name: "API", keys: 1_000 } }),
    ]),
  });
});

test("a file that can't be read, and a wrong keyspace, fail with a reason", async () => {
  const file = await writeKeyFile("wrong.csv", "hash,password\n1,2");
  const wrongColumn = await run(["import", "keys", file, "--keyspace", keyspaceId]);
  expectFailure(wrongColumn, { status: 1, code: "BAD_REQUEST", message: /password/ });
  const missing = join(directory, "missing.csv");
  expectFailure(await run(["import", "keys", missing, "--keyspace", keyspaceId]), {
    status: 2,
    code: "BAD_REQUEST",
    message: /missing/,
  });
  const text = await writeKeyFile("keys.txt", "");
  expectFailure(await run(["import", "keys", text, "--keyspace", keyspaceId]), {
    status: 2,
    code: "BAD_REQUEST",
    message: /--format/,
  });
  const unknown = "ks_01h455vb4pex5vsknk084sn02q";
  const empty = await writeKeyFile("empty.csv", "hash\n");
  expectFailure(await run(["import", "keys", empty, "--keyspace", unknown]), {
    status: 1,
    code: "NOT_FOUND",
    message: "There is no such keyspace.",
  });
});
