import { afterAll, beforeAll, expect, test } from "vitest";
import { callOpen } from "../support/open-call.ts";
import { createPlace, type Place } from "../support/place.ts";
import type { ProductNode } from "../support/product.ts";
import { expectFailure, expectResult } from "./expect-ending.ts";

// Keys from the command line that are held to less, rotated and disabled, in force at once for a server that runs.

const password = "twelve characters or more";
const email = "ada@example.com";

let place: Place;
let node: ProductNode;
let workspaceId: string;

beforeAll(async () => {
  place = await createPlace();
  node = await place.start();
  const user = ["user", "create", "--email", email, "--name", "Ada", "--password-stdin", "--json"];
  workspaceId = String(expectResult(await place.command(user, password)).workspaceId);
});

afterAll(async () => {
  await place?.close();
});

async function perform(...args: string[]): Promise<Record<string, unknown>> {
  return expectResult(await place.command(["--json", ...args]));
}

async function createKey(...options: string[]): Promise<{ id: string; key: string }> {
  const { id, key } = await perform("key", "create", "--user", email, "--name", "CI", ...options);
  return { id: String(id), key: String(key) };
}

async function statusOf(key: string, path = "/open/me"): Promise<number> {
  return (await callOpen(node.baseUrl, key, path)).status;
}

test("key create holds a key to what it is told", async () => {
  const { key, id } = await createKey(
    ...["--expires-in", "1h", "--limit", "100/60s", "--workspace", workspaceId],
    ...["--permission", "workspace:read", "--permission", "members:read"],
    ...["--ip", "127.0.0.0/8", "--ip", "::1"],
  );
  const { body } = await callOpen(node.baseUrl, key, `/open/api-keys/${id}`);
  const told = JSON.parse(body) as Record<string, unknown>;
  expect(told).toMatchObject({
    limit: { quota: 100, windowSeconds: 60 },
    workspaceIds: [workspaceId],
    permissions: ["workspace:read", "members:read"],
    isReadOnly: false,
    ipRanges: ["127.0.0.0/8", "::1"],
    isDisabled: false,
  });
  expect(Date.parse(String(told.expiresAt)) - Date.parse(String(told.createdAt))).toBeCloseTo(3_600_000, -5);
  expect(await statusOf(key, `/open/workspaces/${workspaceId}`)).toBe(200);
  expect(await statusOf(key, `/open/workspaces/${workspaceId}/audit-events`)).toBe(403);
});

test("a key that only reads, that comes from elsewhere, that is past its limit", async () => {
  const reading = await createKey("--read-only");
  expect(await statusOf(reading.key, `/open/workspaces/${workspaceId}/audit-events`)).toBe(200);
  const elsewhere = await createKey("--ip", "203.0.113.0/24");
  expect(await statusOf(elsewhere.key)).toBe(403);
  const limited = await createKey("--limit", "1/1d");
  expect([await statusOf(limited.key), await statusOf(limited.key)]).toEqual([200, 429]);
});

test("key disable and key enable are in force on the next request", async () => {
  const { id, key } = await createKey("--expires-in", "30d");
  expect(await statusOf(key)).toBe(200);
  expect(await perform("key", "disable", id)).toEqual({ id, disabled: true });
  expect(await statusOf(key)).toBe(403);
  expect(await perform("key", "enable", id)).toEqual({ id, disabled: false });
  expect(await statusOf(key)).toBe(200);
});

test("key rotate gives a new secret, and keeps the old one good for as long as it is told", async () => {
  const { id, key } = await createKey();
  const first = await perform("key", "rotate", id, "--overlap", "90m");
  expect(first).toEqual({ id, key: expect.stringMatching(/^lk_\w{36}$/) });
  expect([await statusOf(key), await statusOf(String(first.key))]).toEqual([200, 200]);
  const { body } = await callOpen(node.baseUrl, String(first.key), `/open/api-keys/${id}`);
  const [former] = (JSON.parse(body) as { formerSecrets: { retiredAt: string; goodUntil: string }[] })
    .formerSecrets;
  expect(Date.parse(former?.goodUntil ?? "") - Date.parse(former?.retiredAt ?? "")).toBeCloseTo(
    5_400_000,
    -3,
  );
  const second = await perform("key", "rotate", id, "--overlap", "0s");
  expect(await statusOf(String(first.key))).toBe(403);
  expect([await statusOf(key), await statusOf(String(second.key))]).toEqual([200, 200]);
});

const unknown = "key_01h455vb4pex5vsknk084sn02q";
const overlapRejection = /overlap: Not a duration from 0s to 30d\. Use .*, for example 90m, 12h or 30d\./;

test.each([
  ["--expires-in", "soon", /expiresIn: .*such as 90s/],
  ["--expires-in", "0s", /expiresIn: Use at least 1s/],
  ["--expires-in", "999999999d", /expiresIn: Use at most 36500d/],
  ["--limit", "many", /limit: .*such as 100\/60s/],
  ["--limit", "0/60s", /limit.quota: Allow at least 1/],
  ["--limit", "1/2d", /limit.windowSeconds: At most 86400/],
  ["--workspace", "ws_01h455vb4pex5vsknk084sn02q", /workspaceIds.0: Not one of the user’s/],
  ["--workspace", "nonsense", /workspace.0: Not the id/],
  ["--permission", "keys:eat", /permission.0: Not a permission/],
  ["--ip", "10.0.0.0/33", /ip.0: .*range/],
])("key create refuses %s %s, and makes no key", async (option, value, message) => {
  const before = await countKeys();
  const ending = await place.command([
    ...["--json", "key", "create", "--user", email, "--name", "Bad"],
    ...[option, value],
  ]);
  expectFailure(ending, { status: 1, code: "BAD_REQUEST", message });
  expect(await countKeys()).toBe(before + 1);
});

/** Counted by a key of its own. */
async function countKeys(): Promise<number> {
  const { key } = await createKey();
  const { body } = await callOpen(node.baseUrl, key, "/open/api-keys?limit=100");
  return (JSON.parse(body) as { data: unknown[] }).data.length;
}

test.each([
  [["key", "disable", unknown], "NOT_FOUND", /no such API key/],
  [["key", "enable", "nonsense"], "BAD_REQUEST", /not the id of an API key/],
  [["key", "rotate", unknown], "NOT_FOUND", /no such API key/],
  [["key", "rotate", unknown, "--overlap", "31d"], "BAD_REQUEST", overlapRejection],
  [["key", "rotate", unknown, "--overlap", "1w"], "BAD_REQUEST", overlapRejection],
])("%j is refused", async (args, code, message) => {
  expectFailure(await place.command(["--json", ...args]), { status: 1, code, message });
});
