import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { signUp } from "../support/account.ts";
import { getMembership } from "../support/membership.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// Keyspaces and issued keys, which the `latchkey` command manages while a server verifies the keys.

let instance: TestInstance;
let baseUrl: string;
let apiKey: string;
let workspaceId: string;
let keyspaceId: string;

beforeAll(async () => {
  instance = await createPreparedInstance();
  ({ baseUrl } = await instance.startInProcess());
  const account = await signUp(baseUrl);
  ({ workspaceId } = await getMembership(baseUrl, account));
  const created = expectResult(await run(["key", "create", "--user", account.email, "--name", "Verifier"]));
  apiKey = String(created.key);
});
afterAll(async () => {
  await instance?.close();
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
  for (const command of ["rotate", "revoke-old-secrets", "disable", "enable", "delete"])
    expectFailure(await run(["issued-key", command, id]), {
      status: 1,
      code: "NOT_FOUND",
      message: "There is no such issued key.",
    });
});

test("revokes the old secrets of a key before their overlap ends", async () => {
  const { id, key } = expectResult(await run(["issued-key", "create", "--keyspace", keyspaceId]));
  const secrets = [key];
  for (let count = 0; count < 2; count += 1)
    secrets.push(expectResult(await run(["issued-key", "rotate", String(id), "--overlap", "30d"])).key);
  expect(await codesOf(secrets)).toEqual(["VALID", "VALID", "VALID"]);
  const revoke = ["issued-key", "revoke-old-secrets", String(id)];
  expect(expectResult(await run(revoke))).toMatchObject({ id, formerSecrets: [], version: 4 });
  expect(await codesOf(secrets)).toEqual(["NOT_FOUND", "NOT_FOUND", "VALID"]);
  expect(expectText(await instance.command(revoke))).toMatch(/^Old secrets +none$/m);
  expect(await codesOf(secrets)).toEqual(["NOT_FOUND", "NOT_FOUND", "VALID"]);
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
    message: "The keys belong to several keyspaces. Specify keys of one keyspace at a time.",
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
    message: "Specify the IDs of keys, or --external-id and --keyspace.",
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
  [
    Array.from({ length: 101 }, (_, index) => ["--ip", `10.0.0.${index}`]).flat(),
    /--ip: .*Include at most 100 items/,
  ],
  [["--refill", "10/daily"], /--refill: .*Also specify --credits/],
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
