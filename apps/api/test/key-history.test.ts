import { randomUUID } from "node:crypto";
import { decodeId, encodeId, type KeyId, type UserId } from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createKey } from "../src/domain/api-key-edits.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

/** Creates a user and signs in. */
async function signIn() {
  const { email, userId } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { client, userId };
}

async function addKey(userId: UserId, settings: Partial<KeySettings> = {}) {
  const key = { userId, name: "CI", description: "", settings, origin: commandOrigin };
  const { id, secret } = await app.services.db
    .transaction()
    .execute((trx) => createKey(trx, key, defaultQuotas));
  return { id: encodeId("key", id), secret };
}

async function call(secret: string, request: string, requestId = randomUUID()): Promise<number> {
  const [method = "", path = ""] = request.split(" ");
  const headers = { Authorization: `Bearer ${secret}`, "X-Request-Id": requestId };
  return (await fetch(app.baseUrl + path, { method, headers })).status;
}

/** The current hour, and the ones before and after it, between any of which the hour can change during a test. */
const createCurrentPeriod = () => {
  const now = Date.now();
  const hour = 3_600_000;
  return {
    from: new Date(now - 2 * hour).toISOString(),
    to: new Date(now + hour).toISOString(),
    bucket: "hour",
  } as const;
};

describe("the usage of a key", () => {
  test("is reported by hour, workspace and outcome, in the web app and in the API", async () => {
    const { client, userId } = await signIn();
    const { id, secret } = await addKey(userId, { limit: { quota: 3, windowSeconds: 86_400 } });
    const [workspace] = (await client.session.current.query())?.workspaces ?? [];
    const statuses = [
      await call(secret, "GET /open/global/config"),
      await call(secret, `GET /open/workspaces/${workspace?.id}`),
      await call(secret, "GET /open/workspaces/ws_01h455vb4pex5vsknk084sn02q"),
      await call(secret, "GET /open/me"),
      await call(secret, "GET /open/me"),
    ];
    expect(statuses).toEqual([200, 200, 403, 200, 429]);
    const usage = () => client.keyHistory.usage.query({ id, ...createCurrentPeriod() });
    // The hour can end between the requests.
    const countByOutcome = async () => {
      const counts: Record<string, number> = {};
      for (const { outcome, workspaceId, count } of await usage()) {
        const kind = workspaceId === workspace?.id ? `${outcome} in the workspace` : outcome;
        counts[kind] = (counts[kind] ?? 0) + count;
      }
      return counts;
    };
    await expect
      .poll(countByOutcome)
      .toEqual({ admitted: 2, "admitted in the workspace": 1, limited: 1, "no-member": 1 });
    const reader = await addKey(userId);
    const { from, to, bucket } = createCurrentPeriod();
    const headers = { Authorization: `Bearer ${reader.secret}` };
    const path = `/open/api-keys/${id}/usage?from=${from}&to=${to}&bucket=${bucket}`;
    const response = await fetch(app.baseUrl + path, { headers });
    expect(await response.json()).toEqual({ data: await usage() });
    expect(await client.keyHistory.addresses.query({ id })).toMatchObject([{ address: "127.0.0.1" }]);
  });

  test("of days is that of the whole days in UTC that begin in the period", async () => {
    const { client, userId } = await signIn();
    const { id, secret } = await addKey(userId);
    const hourMs = 3_600_000;
    const firstDay = (Math.floor(Date.now() / (24 * hourMs)) - 4) * 24 * hourMs;
    const at = (day: number, hour: number) => new Date(firstDay + (day * 24 + hour) * hourMs);
    const hours = [at(0, 6), at(0, 18), at(1, 0), at(1, 23), at(2, 6), at(2, 18), at(3, 0)];
    await app.owner
      .insertInto("key_usage_hours")
      .values(
        hours.map((hour, index) => ({
          key_id: decodeId("key", id) as KeyId, // It was encoded above.
          hour,
          workspace_id: null,
          outcome: "admitted",
          count: 2 ** index,
        })),
      )
      .execute();
    const read = async (from: Date, to: Date) => {
      const period = { from: from.toISOString(), to: to.toISOString(), bucket: "day" } as const;
      const usage = await client.keyHistory.usage.query({ id, ...period });
      const path = `/open/api-keys/${id}/usage?${new URLSearchParams(period)}`;
      const headers = { Authorization: `Bearer ${secret}` };
      expect(await (await fetch(app.baseUrl + path, { headers })).json()).toEqual({ data: usage });
      return usage.map(({ startsAt, count }) => [startsAt, count]);
    };
    const [second, third] = [at(1, 0).toISOString(), at(2, 0).toISOString()];
    expect(await read(at(0, 12), at(2, 12))).toEqual([
      [second, 4 + 8],
      [third, 16 + 32],
    ]);
    expect(await read(at(1, 0), at(2, 0))).toEqual([[second, 4 + 8]]);
    expect(await read(at(0, 1), at(1, 0))).toEqual([]);
  });

  test.each([
    ["ends before it starts", "2026-03-02T00:00:00Z", "2026-03-01T00:00:00Z"],
    ["has too many hours", "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"],
  ])("is rejected for a period that %s", async (_what, from, to) => {
    const { client, userId } = await signIn();
    const { id } = await addKey(userId);
    await expect(client.keyHistory.usage.query({ id, from, to, bucket: "hour" })).rejects.toMatchObject({
      data: { code: "BAD_REQUEST", issues: [{ path: "to" }] },
    });
  });
});

describe("the rejections of a key", () => {
  test("are explained by request ID and by key, and only to its owner", async () => {
    const [{ client, userId }, stranger] = [await signIn(), await signIn()];
    const { id, secret } = await addKey(userId, { ipRanges: ["203.0.113.0/24"] });
    const requestId = randomUUID();
    expect(await call(secret, "DELETE /open/workspaces/ws_01h455vb4pex5vsknk084sn02q", requestId)).toBe(403);
    const explain = () => client.keyHistory.explainRequest.query({ requestId });
    await expect.poll(async () => (await explain()).length).toBe(1);
    const rejection = {
      method: "DELETE",
      path: "/open/workspaces/ws_01h455vb4pex5vsknk084sn02q",
      address: "127.0.0.1",
      requestId,
      reason: "address",
      explanation:
        "The key is restricted to IP ranges, and the request came from an IP address outside those ranges.",
    };
    expect(await explain()).toMatchObject([{ ...rejection, key: { id, name: "CI", isDeleted: false } }]);
    expect(await client.keyHistory.refusals.query({ id })).toMatchObject([rejection]);
    expect(await stranger.client.keyHistory.explainRequest.query({ requestId })).toEqual([]);
    expect(await client.keyHistory.addresses.query({ id })).toEqual([]);
  });

  test("are explained after the key is deleted, and mark it as deleted", async () => {
    const { client, userId } = await signIn();
    const { id, secret } = await addKey(userId);
    await client.apiKeys.delete.mutate({ id });
    const requestId = randomUUID();
    expect(await call(secret, "GET /open/me", requestId)).toBe(403);
    await expect
      .poll(() => client.keyHistory.explainRequest.query({ requestId }))
      .toMatchObject([{ reason: "deleted", key: { id, name: "CI", isDeleted: true } }]);
  });

  test("set rotatedOutUse of the key if a secret is used past its overlap", async () => {
    const { client, userId } = await signIn();
    const { id, secret } = await addKey(userId);
    const { key } = await client.apiKeys.rotate.mutate({ id, overlapSeconds: 3_600 });
    expect([await call(secret, "GET /open/me"), await call(key, "GET /open/me")]).toEqual([200, 200]);
    await expect
      .poll(async () => (await client.apiKeys.get.query({ id })).formerSecrets[0]?.lastUsedAt ?? null)
      .not.toBeNull();
    await client.apiKeys.revokeOldSecrets.mutate({ id });
    expect([await call(secret, "GET /open/me"), await call(key, "GET /open/me")]).toEqual([403, 200]);
    await expect
      .poll(async () => (await client.apiKeys.get.query({ id })).rotatedOutUse)
      .toMatchObject({ address: "127.0.0.1" });
  });
});

describe("a tried request", () => {
  type Settings = Partial<KeySettings>;
  test.each<[string, Settings, string, object]>([
    ["is admitted", {}, "GET /open/me", { status: 200, outcome: "admitted", permission: null }],
    [
      "needs a permission",
      {},
      "GET /open/workspaces/{workspaceId}",
      { status: 200, permission: "workspace:read" },
    ],
    [
      "has an unknown workspace",
      {},
      "GET /open/workspaces/ws_01h455vb4pex5vsknk084sn02q",
      { status: 403, outcome: "no-member" },
    ],
    [
      "changes a workspace with a read-only key",
      { isReadOnly: true },
      "DELETE /open/workspaces/{workspaceId}",
      { status: 403, outcome: "permission-not-in-key" },
    ],
    [
      "creates a workspace with a restricted key",
      { isReadOnly: true },
      "POST /open/workspaces",
      { status: 403, outcome: "narrowed" },
    ],
    [
      "comes from an IP address outside the ranges of the key",
      { ipRanges: ["203.0.113.0/24"] },
      "GET /open/me",
      { status: 403, outcome: "address" },
    ],
    ["has a disabled key", { isDisabled: true }, "GET /open/me", { status: 403, outcome: "disabled" }],
    ["has an unknown path", {}, "GET /open/nowhere", { status: 404, outcome: "admitted" }],
    ["has an unsupported method", {}, "PUT /open/me", { status: 405, outcome: "admitted" }],
    [
      "has a rate-limited key",
      { limit: { quota: 5, windowSeconds: 60 } },
      "GET /open/me",
      { status: 200, remaining: 5 },
    ],
  ])("%s", async (_what, settings, request, expected) => {
    const { client, userId } = await signIn();
    const { id, secret } = await addKey(userId, settings);
    const [workspace] = (await client.session.current.query())?.workspaces ?? [];
    const [method, path = ""] = request.replace("{workspaceId}", workspace?.id ?? "").split(" ") as [
      "GET",
      string,
    ];
    const result = await client.keyHistory.tryOut.mutate({ key: secret, method, path });
    expect(result).toMatchObject({ keyId: id, ...expected });
    expect(result.explanation).toMatch(/^[A-Z].+\.$/);
    expect((await client.apiKeys.get.query({ id })).usageCount).toBe(0);
  });

  test("is evaluated for the given IP address", async () => {
    const { client, userId } = await signIn();
    const { secret } = await addKey(userId, { ipRanges: ["203.0.113.0/24"] });
    const input = { key: secret, method: "GET", path: "/open/me", address: "203.0.113.7" } as const;
    expect(await client.keyHistory.tryOut.mutate(input)).toMatchObject({ status: 200 });
  });

  test("gets the same result for another user's key and an unknown key, and logs neither", async () => {
    const [{ client }, other] = [await signIn(), await signIn()];
    const { secret } = await addKey(other.userId);
    const tryKey = (key: string) =>
      client.keyHistory.tryOut.mutate({ key, method: "GET", path: "/open/global/config" });
    const unknown = `${secret.slice(0, -7)}0${secret.slice(-6)}`;
    expect(await tryKey(secret)).toEqual(await tryKey(unknown));
    expect(await tryKey(secret)).toMatchObject({ status: null, outcome: "unknown", keyId: null });
    expect(await tryKey("not a key")).toMatchObject({ status: 401, outcome: "unknown" });
    expect(app.readLog()).not.toContain(secret);
  });
});
