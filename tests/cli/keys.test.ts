import { afterAll, beforeAll, expect, test } from "vitest";
import type { InProcessNode } from "../support/node-in-process.ts";
import { callOpen } from "../support/open-call.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// Keys that the command restricts, rotates and disables; a running server applies the changes immediately.

const password = "twelve characters or more";
const email = "ada@example.com";

let instance: TestInstance;
let node: InProcessNode;
let workspaceId: string;

beforeAll(async () => {
  instance = await createPreparedInstance();
  node = await instance.startInProcess();
  const user = ["user", "create", "--email", email, "--name", "Ada", "--password-stdin", "--json"];
  workspaceId = String(expectResult(await instance.command(user, password)).workspaceId);
});

afterAll(async () => {
  await instance?.close();
});

async function perform(...args: string[]): Promise<Record<string, unknown>> {
  return expectResult(await instance.command(["--json", ...args]));
}

async function createKey(...options: string[]): Promise<{ id: string; key: string }> {
  const { id, key } = await perform("key", "create", "--user", email, "--name", "CI", ...options);
  return { id: String(id), key: String(key) };
}

async function statusOf(key: string, path = "/open/me"): Promise<number> {
  return (await callOpen(node.baseUrl, key, path)).status;
}

test("key create restricts a key as requested", async () => {
  const { key, id } = await createKey(
    ...["--expires-in", "1h", "--limit", "100/60s", "--workspace", workspaceId],
    ...["--permission", "workspace:read", "--permission", "members:read"],
    ...["--ip", "127.0.0.0/8", "--ip", "::1"],
  );
  const { body } = await callOpen(node.baseUrl, key, `/open/api-keys/${id}`);
  const shown = JSON.parse(body) as Record<string, unknown>;
  expect(shown).toMatchObject({
    limit: { quota: 100, windowSeconds: 60 },
    workspaceIds: [workspaceId],
    permissions: ["workspace:read", "members:read"],
    isReadOnly: false,
    ipRanges: ["127.0.0.0/8", "::1"],
    isDisabled: false,
  });
  expect(Date.parse(String(shown.expiresAt)) - Date.parse(String(shown.createdAt))).toBeCloseTo(
    3_600_000,
    -5,
  );
  expect(await statusOf(key, `/open/workspaces/${workspaceId}`)).toBe(200);
  expect(await statusOf(key, `/open/workspaces/${workspaceId}/audit-events`)).toBe(403);
});

test("rejects writes of a read-only key, other IP addresses, and requests over the rate limit", async () => {
  const reading = await createKey("--read-only");
  expect(await statusOf(reading.key, `/open/workspaces/${workspaceId}/audit-events`)).toBe(200);
  const elsewhere = await createKey("--ip", "203.0.113.0/24");
  expect(await statusOf(elsewhere.key)).toBe(403);
  const limited = await createKey("--limit", "1/1d");
  expect([await statusOf(limited.key), await statusOf(limited.key)]).toEqual([200, 429]);
});

test("key disable and key enable apply to the next request", async () => {
  const { id, key } = await createKey("--expires-in", "30d");
  expect(await statusOf(key)).toBe(200);
  expect(await perform("key", "disable", id)).toMatchObject({ id, isDisabled: true });
  expect(await statusOf(key)).toBe(403);
  expect(await perform("key", "enable", id)).toMatchObject({ id, isDisabled: false });
  expect(await statusOf(key)).toBe(200);
});

test("key rotate issues a new secret, and the former one stays valid for the requested overlap", async () => {
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

test("key revoke-old-secrets revokes the former secrets before their overlap ends", async () => {
  const { id, key } = await createKey();
  const current = await perform("key", "rotate", id, "--overlap", "30d");
  expect([await statusOf(key), await statusOf(String(current.key))]).toEqual([200, 200]);
  const revoke = ["key", "revoke-old-secrets", id] as const;
  const revoked = await perform(...revoke);
  expect(revoked).toMatchObject({
    id,
    userId: expect.stringMatching(/^usr_/),
    formerSecrets: [],
    version: 3,
  });
  expect([await statusOf(key), await statusOf(String(current.key))]).toEqual([403, 200]);
  expect(await perform(...revoke)).toMatchObject({ version: 3 });
  expect(await statusOf(String(current.key))).toBe(200);
});

const unknown = "key_01h455vb4pex5vsknk084sn02q";

test("key create rejects a workspace that the user isn't a member of, and creates no key", async () => {
  const listIds = async () => (await listKeys()).map(({ id }) => id);
  const before = await listIds();
  const ending = await instance.command([
    ...["--json", "key", "create", "--user", email, "--name", "Bad"],
    ...["--workspace", "ws_01h455vb4pex5vsknk084sn02q"],
  ]);
  const message = /^--workspace: Not one of the user’s workspaces/;
  expectFailure(ending, { status: 1, code: "BAD_REQUEST", message });
  expect(await listIds()).toEqual(before);
});

async function listKeys(...options: string[]): Promise<Record<string, unknown>[]> {
  const { data, ...others } = await perform("key", "list", ...options);
  expect(others).toEqual({});
  return data as Record<string, unknown>[]; // The items are objects.
}

test.each([
  [["key", "disable", unknown]],
  [["key", "rotate", unknown]],
  [["key", "revoke-old-secrets", unknown]],
  [["key", "show", unknown]],
  [["key", "edit", unknown, "--name", "n"]],
])("%j is not found", async (args) => {
  const message = /no such API key/;
  expectFailure(await instance.command(["--json", ...args]), { status: 1, code: "NOT_FOUND", message });
});

/** A key as the open API and the command show it. */
async function readKey(id: string): Promise<Record<string, unknown>> {
  const { key } = await createKey();
  const { status, body } = await callOpen(node.baseUrl, key, `/open/api-keys/${id}`);
  expect(status).toBe(200);
  return JSON.parse(body);
}

test("key show prints the key as in the open API, with the owner", async () => {
  const { id } = await createKey("--limit", "100/60s", "--ip", "203.0.113.0/24", "--read-only");
  const shown = await perform("key", "show", id);
  expect(shown).toEqual({ ...(await readKey(id)), userId: expect.stringMatching(/^usr_/) });
  const text = expectText(await instance.command(["key", "show", id]));
  expect(text).toMatch(new RegExp(`^ID +${id}$`, "m"));
  expect(text).toMatch(/^Rate limit {3}100\/60s$/m);
  expect(text).toMatch(/^IP ranges {4}203\.0\.113\.0\/24$/m);
  expect(text).toMatch(/^Read-only {4}yes$/m);
  expect(text).not.toContain("lk_".padEnd(20));
});

test("key list prints the keys of one user or of all users, oldest first, without deleted keys", async () => {
  const other = ["user", "create", "--email", "other@example.com", "--name", "Other", "--password-stdin"];
  const { userId } = expectResult(await instance.command(["--json", ...other], password));
  const { id: theirs } = await perform("key", "create", "--user", String(userId), "--name", "theirs");
  const { id: deleted } = await createKey();
  await perform("key", "delete", deleted);
  const all = await listKeys();
  const ofUser = await listKeys("--user", "Other@example.com");
  expect(ofUser).toMatchObject([{ id: theirs, name: "theirs", userId, isDisabled: false }]);
  expect(all).toEqual(expect.arrayContaining(ofUser));
  const ids = all.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort());
  expect(ids).not.toContain(deleted);
  expect(all.filter((key) => key.userId !== userId)).toEqual(await listKeys("--user", email));
  const lines = expectText(await instance.command(["key", "list"])).split("\n");
  expect(lines[0]).toMatch(/^ID +STATUS +OWNER +SECRET +EXPIRES +LAST USED +USES +NAME$/);
  expect(lines.slice(1, -1).map((line) => line.split(" ")[0])).toEqual(ids);
});

test("key edit changes only the given settings, from the next request", async () => {
  const { id, key } = await createKey("--limit", "100/60s");
  const before = await readKey(id);
  const changed = await perform(
    ...["key", "edit", id, "--name", "Deploys", "--description", "One\nTwo", "--limit", "50/60s"],
    ...["--expires-in", "30d", "--workspace", workspaceId, "--permission", "workspace:read"],
    ...["--read-only", "--ip", "127.0.0.0/8", "--ip", "::1"],
  );
  expect(changed).toMatchObject({
    ...{ name: "Deploys", description: "One\nTwo", limit: { quota: 50, windowSeconds: 60 } },
    ...{ workspaceIds: [workspaceId], permissions: ["workspace:read"], isReadOnly: true },
    ...{ ipRanges: ["127.0.0.0/8", "::1"], expiresAt: expect.any(String), isDisabled: false },
  });
  expect(await readKey(id)).toEqual({ ...before, ...changed, userId: undefined });
  expect(await statusOf(key, `/open/workspaces/${workspaceId}/members`)).toBe(403);
  const renamed = await perform("key", "edit", id, "--name", "Renamed");
  expect(renamed).toEqual({ ...changed, name: "Renamed", version: Number(changed.version) + 1 });
  const text = expectText(await instance.command(["key", "show", id]));
  expect(text).toMatch(/^Description {2}One\n {13}Two$/m);
});

test("key edit expands access only with --expand-access, and lists what would be expanded", async () => {
  const { id, key } = await createKey(
    ...["--expires-at", "2099-01-01T00:00:00Z", "--limit", "100/60s", "--workspace", workspaceId],
    ...["--permission", "members:read", "--read-only", "--ip", "203.0.113.0/24"],
  );
  const before = await readKey(id);
  const clear = ["--no-expiry", "--no-limit", "--all-workspaces", "--all-permissions", "--no-read-only"];
  const edit = ["key", "edit", id, ...clear, "--any-ip"];
  expectFailure(await instance.command(edit), {
    status: 1,
    code: "UNPROCESSABLE_CONTENT",
    message:
      "This would expand the key's access: expiry from 2099-01-01T00:00:00Z to never; " +
      `workspaces from ${workspaceId} to all; permissions from members:read to all; read-only from yes to no; ` +
      "IP ranges from 203.0.113.0/24 to any; rate limit from 100/60s to none. Add --expand-access to allow it.",
  });
  expect(await readKey(id)).toEqual(before);
  expect(await statusOf(key)).toBe(403);
  expect(await perform(...edit, "--expand-access")).toMatchObject({
    ...{ expiresAt: null, limit: null, workspaceIds: null, permissions: null, isReadOnly: false },
    ...{ ipRanges: null },
  });
  expect(await statusOf(key)).toBe(200);
});
