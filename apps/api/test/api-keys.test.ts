import { decodeId, encodeId, type KeyId, type UserId } from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createKey } from "../src/domain/api-key-edits.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { createWorkspace } from "../src/domain/workspaces.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ trustedProxies: ["127.0.0.1"] });
});
afterAll(() => app.close());

interface Sent {
  readonly status: number;
  readonly headers: Headers;
  // Not validated, because the tests check the members.
  readonly body: Readonly<Record<string, unknown>> & { readonly data: readonly Record<string, unknown>[] };
}

async function send(
  secret: string,
  request: string,
  { body, ...headers }: { readonly body?: object; readonly [header: string]: unknown } = {},
): Promise<Sent> {
  const [method = "", path = ""] = request.split(" ");
  const response = await fetch(`${app.baseUrl}/open${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${secret}`,
      ...(body ? { "Content-Type": "application/json" } : {}),
      ...(headers as Record<string, string>),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text) };
}

interface Key {
  readonly userId: UserId;
  readonly keyId: KeyId;
  /** The ID in API responses. */
  readonly id: string;
  readonly secret: string;
}

async function addKey(settings: Partial<KeySettings> = {}, ofUser?: UserId): Promise<Key> {
  const userId = ofUser ?? (await app.addUser()).userId;
  const key = { userId, name: "key", description: "", settings, origin: commandOrigin };
  const { id: keyId, secret } = await app.services.db
    .transaction()
    .execute((trx) => createKey(trx, key, defaultQuotas));
  return { userId, keyId, id: encodeId("key", keyId), secret };
}

async function addWorkspace(ownerId: UserId): Promise<string> {
  const workspace = { name: "Second", ownerId, origin: commandOrigin };
  const { id } = await app.services.db
    .transaction()
    .execute((trx) => createWorkspace(trx, workspace, defaultQuotas));
  return encodeId("workspace", id);
}

const forbidden = { status: 403, body: { error: { code: "FORBIDDEN", message: "Insufficient access" } } };
const hour = 3_600;

describe("a user's keys", () => {
  test("are listed and returned without their secrets", async () => {
    const key = await addKey();
    const other = await addKey({ isReadOnly: true, limit: { quota: 5, windowSeconds: 60 } }, key.userId);
    const { body } = await send(key.secret, "GET /api-keys");
    expect(body.data.map(({ id }) => id)).toEqual([key.id, other.id]);
    const { body: shown, headers } = await send(key.secret, `GET /api-keys/${other.id}`);
    expect(shown).toMatchObject({
      id: other.id,
      isReadOnly: true,
      limit: { quota: 5, windowSeconds: 60 },
      expiresAt: null,
      workspaceIds: null,
      formerSecrets: [],
      rotatedOutUse: null,
      version: 1,
    });
    expect(headers.get("etag")).toMatch(/^"1\.[\w-]{11}"$/);
    for (const { secret } of [key, other]) expect(JSON.stringify([body, shown])).not.toContain(secret);
  });

  test("are searched, filtered and paged", async () => {
    const key = await addKey();
    for (let count = 1; count <= 4; count += 1) await addKey({ isDisabled: count % 2 === 0 }, key.userId);
    const list = async (query: string) => (await send(key.secret, `GET /api-keys?${query}`)).body;
    expect((await list("isDisabled=true")).data).toHaveLength(2);
    expect((await list("isDisabled=false&search=KE")).data).toHaveLength(3);
    expect((await list("search=nothing")).data).toHaveLength(0);
    const first = await list("limit=2&sort=-createdAt");
    const rest = await list(`limit=100&sort=-createdAt&cursor=${first.nextCursor}`);
    const ids = [...first.data, ...rest.data].map(({ id }) => id);
    expect([ids.length, new Set(ids).size, ids.at(-1)]).toEqual([5, 5, key.id]);
  });

  test("get 404 after they are deleted, and 403 if they belong to another user or don't exist", async () => {
    const [key, stranger] = [await addKey(), await addKey()];
    const other = await addKey({}, key.userId);
    expect(await send(key.secret, `DELETE /api-keys/${other.id}`)).toMatchObject({ status: 204 });
    expect(await send(other.secret, "GET /me")).toMatchObject(forbidden);
    for (const request of ["GET", "DELETE"])
      expect(await send(key.secret, `${request} /api-keys/${other.id}`)).toMatchObject({ status: 404 });
    const foreign = await send(key.secret, `GET /api-keys/${stranger.id}`);
    const nowhere = await send(key.secret, "GET /api-keys/key_01h455vb4pex5vsknk084sn02q");
    expect([foreign, nowhere]).toMatchObject([forbidden, forbidden]);
    expect(await send(stranger.secret, "GET /me")).toMatchObject({ status: 200 });
  });

  test("can be revoked with their own secret", async () => {
    const key = await addKey({ isReadOnly: true });
    expect(await send(key.secret, "POST /api-keys/current/revoke")).toMatchObject({ status: 204 });
    expect(await send(key.secret, "GET /me")).toMatchObject(forbidden);
  });

  test("are revoked separately, even with the same idempotency key", async () => {
    const key = await addKey();
    const sibling = await addKey({}, key.userId);
    for (const { secret } of [key, sibling]) {
      const options = { "Idempotency-Key": "revoke" };
      expect(await send(secret, "POST /api-keys/current/revoke", options)).toMatchObject({ status: 204 });
      expect(await send(secret, "GET /me")).toMatchObject(forbidden);
    }
  });
});

describe("an edit", () => {
  test.each([
    [{ isDisabled: true }],
    [{ isReadOnly: true }],
    [{ permissions: ["workspace:read"] }],
    [{ ipRanges: ["10.0.0.0/8"] }],
    [{ limit: { quota: 10, windowSeconds: 60 } }],
    [{ expiresAt: "2098-01-01T00:00:00.000Z" }],
    [{ name: "Other", description: "Words." }],
  ])("can reduce a key's access: %j", async (body) => {
    const key = await addKey();
    const target = await addKey({}, key.userId);
    expect(await send(key.secret, `PATCH /api-keys/${target.id}`, { body })).toMatchObject({
      status: 200,
      body: { ...body, version: 2 },
    });
    expect((await send(key.secret, `GET /api-keys/${target.id}`)).body).toMatchObject(body);
  });

  const restrictions: KeySettings = {
    isDisabled: true,
    expiresAt: new Date("2098-01-01T00:00:00Z"),
    workspaceIds: null,
    permissions: ["workspace:read", "members:read"],
    isReadOnly: true,
    ipRanges: ["10.0.0.0/8"],
    limit: { quota: 10, windowSeconds: 60 },
  };

  test.each([
    ["isDisabled", false],
    ["isReadOnly", false],
    ["permissions", null],
    ["permissions", ["workspace:read", "audit:read"]],
    ["ipRanges", null],
    ["ipRanges", ["10.0.0.0/7"]],
    ["ipRanges", ["10.1.0.0/16", "192.0.2.1"]],
    ["limit", null],
    ["limit", { quota: 11, windowSeconds: 60 }],
    ["limit", { quota: 10, windowSeconds: 59 }],
    ["expiresAt", null],
    ["expiresAt", "2098-01-01T00:00:00.001Z"],
  ])("can't expand a key's access: %s %j", async (member, value) => {
    const key = await addKey();
    const target = await addKey(restrictions, key.userId);
    const path = `PATCH /api-keys/${target.id}`;
    expect(await send(key.secret, path, { body: { name: "Other", [member]: value } })).toMatchObject({
      status: 422,
      body: { error: { code: "UNPROCESSABLE_CONTENT", issues: [{ path: member }] } },
    });
    expect((await send(key.secret, `GET /api-keys/${target.id}`)).body).toMatchObject({
      name: "key",
      version: 1,
    });
  });

  test.each([
    ["limit", { quota: 9, windowSeconds: 61 }],
    ["ipRanges", ["10.1.0.0/16", "10.2.3.4"]],
    ["permissions", ["members:read"]],
  ])("can reduce the access of a restricted key: %s %j", async (member, value) => {
    const key = await addKey();
    const target = await addKey(restrictions, key.userId);
    expect(
      await send(key.secret, `PATCH /api-keys/${target.id}`, { body: { [member]: value } }),
    ).toMatchObject({ status: 200, body: { [member]: value } });
  });

  test.each([
    ["limit", { quota: 0, windowSeconds: 60 }, "limit.quota"],
    ["limit", { quota: 1, windowSeconds: 86_401 }, "limit.windowSeconds"],
    ["limit", { quota: 1 }, "limit.windowSeconds"],
    ["ipRanges", ["10.0.0.0/33"], "ipRanges.0"],
    ["ipRanges", [], "ipRanges"],
    ["permissions", ["keys:eat"], "permissions.0"],
    ["workspaceIds", ["ws_01h455vb4pex5vsknk084sn02q"], "workspaceIds.0"],
    ["workspaceIds", ["nonsense"], "workspaceIds.0"],
    ["expiresAt", "2020-01-01T00:00:00Z", "expiresAt"],
    ["expiresAt", "tomorrow", "expiresAt"],
    ["start", "lk_", "start"],
  ])("is rejected for %s %j", async (member, value, path) => {
    const key = await addKey();
    expect(await send(key.secret, `PATCH /api-keys/${key.id}`, { body: { [member]: value } })).toMatchObject({
      status: 400,
      body: { error: { issues: [{ path }] } },
    });
  });

  test("is rejected if If-Match names another version", async () => {
    const key = await addKey();
    const edit = (etag: string, name: string) =>
      send(key.secret, `PATCH /api-keys/${key.id}`, { body: { name }, "If-Match": etag });
    expect(await edit('"1"', "One")).toMatchObject({ status: 200 });
    expect(await edit('"1"', "Two")).toMatchObject({ status: 412 });
    expect(await edit('"2"', "Three")).toMatchObject({ status: 200, body: { name: "Three", version: 3 } });
  });
});

describe("a restricted key", () => {
  test("with one workspace reaches only that workspace, and can't create workspaces", async () => {
    const { userId } = await app.addUser();
    const [own, other] = [await addWorkspace(userId), await addWorkspace(userId)];
    const workspaceId = decodeId("workspace", own);
    const key = await addKey({ workspaceIds: workspaceId ? [workspaceId] : null }, userId);
    expect(await send(key.secret, `GET /workspaces/${own}`)).toMatchObject({ status: 200 });
    expect(await send(key.secret, `GET /workspaces/${other}`)).toMatchObject(forbidden);
    expect(await send(key.secret, "POST /workspaces", { body: { name: "Third" } })).toMatchObject(forbidden);
    expect((await send(key.secret, "GET /workspaces")).body.data.map(({ id }) => id)).toEqual([own]);
    expect((await send(key.secret, "GET /me")).body.workspaces).toMatchObject([{ id: own }]);
  });

  test("without workspace:read sees no workspaces in lists", async () => {
    const { userId } = await app.addUser();
    await addWorkspace(userId);
    const key = await addKey({ permissions: ["members:read"] }, userId);
    expect((await send(key.secret, "GET /workspaces")).body.data).toEqual([]);
    expect((await send(key.secret, "GET /me")).body.workspaces).toEqual([]);
  });

  test("with read-only access can't change anything or leave a workspace", async () => {
    const { userId } = await app.addUser();
    const workspace = await addWorkspace(userId);
    const key = await addKey({ isReadOnly: true }, userId);
    const oneself = `/workspaces/${workspace}/members/${encodeId("user", userId)}`;
    expect(await send(key.secret, `GET ${oneself}`)).toMatchObject({ status: 200 });
    expect(await send(key.secret, `DELETE ${oneself}`)).toMatchObject(forbidden);
    expect(await send(key.secret, `DELETE /workspaces/${workspace}`)).toMatchObject(forbidden);
    const body = { name: "Other" };
    expect(await send(key.secret, `PATCH /workspaces/${workspace}`, { body })).toMatchObject(forbidden);
    expect(await send(key.secret, "POST /workspaces", { body })).toMatchObject(forbidden);
  });

  test("with members:manage can't grant more permissions than it has", async () => {
    const { userId } = await app.addUser();
    const workspace = await addWorkspace(userId);
    const owner = await addKey({}, userId);
    const guest = await app.addUser();
    const workspaceId = decodeId("workspace", workspace);
    await app.owner
      .insertInto("members")
      .values({
        workspace_id: workspaceId as NonNullable<typeof workspaceId>,
        user_id: guest.userId,
        role: "viewer",
      })
      .execute();
    const ofMembers = ["members:read", "workspace:read", "keyspaces:read", "keys:read", "keys:verify"];
    const key = await addKey({ permissions: ["members:manage", ...ofMembers] }, userId);
    const give = (secret: string, role: string) =>
      send(secret, `PATCH /workspaces/${workspace}/members/${encodeId("user", guest.userId)}`, {
        body: { role },
      });
    expect(await give(key.secret, "member")).toMatchObject({ status: 200 });
    expect(await give(key.secret, "admin")).toMatchObject(forbidden);
    expect(await give(key.secret, "owner")).toMatchObject(forbidden);
    expect(await give(owner.secret, "admin")).toMatchObject({ status: 200 });
    expect(await give(key.secret, "viewer")).toMatchObject(forbidden);
  });

  test.each<[string, Partial<KeySettings>]>([
    ["read-only access", { isReadOnly: true }],
    ["an expiry", { expiresAt: new Date("2098-01-01T00:00:00Z") }],
    ["a rate limit", { limit: { quota: 100, windowSeconds: 60 } }],
    ["IP ranges", { ipRanges: ["127.0.0.0/8"] }],
  ])("with %s manages only itself", async (_what, settings) => {
    const other = await addKey();
    const key = await addKey(settings, other.userId);
    expect((await send(key.secret, "GET /api-keys")).body.data.map(({ id }) => id)).toEqual([key.id]);
    expect(await send(key.secret, `GET /api-keys/${key.id}`)).toMatchObject({ status: 200 });
    for (const [request, body] of [
      ["GET", undefined],
      ["DELETE", undefined],
      ["PATCH", { isDisabled: true }],
    ] as const) {
      const options = body ? { body } : {};
      expect(await send(key.secret, `${request} /api-keys/${other.id}`, options)).toMatchObject(forbidden);
    }
    const rotation = { body: { overlapSeconds: 0 } };
    expect(await send(key.secret, `POST /api-keys/${other.id}/rotate`, rotation)).toMatchObject(forbidden);
    expect(await send(other.secret, "GET /me")).toMatchObject({ status: 200 });
  });

  test("with IP ranges is checked against the address that a trusted proxy forwards", async () => {
    const key = await addKey({ ipRanges: ["203.0.113.0/24"] });
    const call = async (forwarded?: string) =>
      (await send(key.secret, "GET /me", forwarded === undefined ? {} : { "X-Forwarded-For": forwarded }))
        .status;
    expect(await call("203.0.113.9")).toBe(200);
    expect(await call("203.0.113.9, 198.51.100.1")).toBe(403);
    expect(await call("198.51.100.1, 203.0.113.9")).toBe(200);
    expect(await call("198.51.100.1")).toBe(403);
    expect(await call()).toBe(403);
  });
});

describe("a rate-limited key", () => {
  test("returns its rate limit with every counted request, including errors, and 429 beyond it", async () => {
    const key = await addKey({ limit: { quota: 3, windowSeconds: 60 } });
    const policy = '"key";q=3;w=60';
    const expectations = [
      ["GET /me", 200, 2],
      ["GET /nowhere", 404, 1],
      ["GET /api-keys?limit=x", 400, 0],
      ["GET /me", 429, 0],
    ] as const;
    const startedAt = performance.now();
    const expectTimeLeft = (seconds: number) => {
      expect(seconds).toBeLessThanOrEqual(60);
      expect(seconds).toBeGreaterThanOrEqual(60 - (performance.now() - startedAt) / 1_000);
    };
    for (const [request, status, remaining] of expectations) {
      const response = await send(key.secret, request);
      expect([response.status, response.headers.get("ratelimit-policy")]).toEqual([status, policy]);
      const [, left, seconds] = response.headers.get("ratelimit")?.match(/^"key";r=(\d+);t=(\d+)$/) ?? [];
      expect(left).toBe(String(remaining));
      expectTimeLeft(Number(seconds));
    }
    const { headers, body } = await send(key.secret, "GET /me");
    expectTimeLeft(Number(headers.get("retry-after")));
    expect(body).toMatchObject({ error: { code: "TOO_MANY_REQUESTS", message: "Too many requests" } });
  });

  test("returns the remaining seconds of a window that started earlier", async () => {
    const key = await addKey({ limit: { quota: 1, windowSeconds: 86_400 } });
    expect((await send(key.secret, "GET /me")).headers.get("ratelimit")).toMatch(/t=86(400|39\d)$/);
    await sql`
      update key_counters set window_ends_at = window_ends_at - interval '20 hours'
      where key_id = ${key.keyId}`.execute(app.owner);
    const { status, headers } = await send(key.secret, "GET /me");
    expect(status).toBe(429);
    const [, remaining, resetsInSeconds] = headers.get("ratelimit")?.match(/^"key";r=(\d+);t=(\d+)$/) ?? [];
    expect(remaining).toBe("0");
    for (const seconds of [resetsInSeconds, headers.get("retry-after")]) {
      expect(Number(seconds)).toBeLessThanOrEqual(4 * hour);
      expect(Number(seconds)).toBeGreaterThan(4 * hour - 60);
    }
  });

  test("returns these headers only if it has a limit", async () => {
    const { headers } = await send((await addKey()).secret, "GET /me");
    expect([headers.get("ratelimit"), headers.get("ratelimit-policy")]).toEqual([null, null]);
  });
});

describe("a rotation", () => {
  test("issues a new secret, and the old secret stays valid during the overlap", async () => {
    const key = await addKey({ isReadOnly: true });
    const { status, body } = await send(key.secret, `POST /api-keys/${key.id}/rotate`, {
      body: { overlapSeconds: hour },
    });
    expect([status, body]).toMatchObject([
      200,
      { id: key.id, key: expect.stringMatching(/^lk_\w{36}$/), secretStatus: "issued" },
    ]);
    const secret = String(body.key);
    for (const valid of [key.secret, secret])
      expect(await send(valid, "GET /me")).toMatchObject({ status: 200 });
    const { body: rotated } = await send(secret, `GET /api-keys/${key.id}`);
    const [former] = rotated.formerSecrets as { start: string; goodUntil: string; retiredAt: string }[];
    expect([former?.start, rotated.start]).toEqual([key.secret.slice(0, 9), secret.slice(0, 9)]);
    expect(Date.parse(former?.goodUntil ?? "") - Date.parse(former?.retiredAt ?? "")).toBeCloseTo(
      hour * 1_000,
      -2,
    );
    expect((await send(secret, "GET /me")).body).toMatchObject({ key: { usageCount: 5 } });
  });

  test("without an overlap revokes the old secret immediately", async () => {
    const key = await addKey();
    const { body } = await send(key.secret, `POST /api-keys/${key.id}/rotate`, {
      body: { overlapSeconds: 0 },
    });
    expect(await send(key.secret, "GET /me")).toMatchObject(forbidden);
    expect(await send(String(body.key), "GET /me")).toMatchObject({ status: 200 });
  });

  test("is rejected with an old secret, like any change except revoking that secret", async () => {
    const key = await addKey();
    const other = await addKey({}, key.userId);
    const { body } = await send(key.secret, `POST /api-keys/${key.id}/rotate`, {
      body: { overlapSeconds: hour },
    });
    for (const id of [key.id, other.id]) {
      const rotation = { body: { overlapSeconds: 0 } };
      expect(await send(key.secret, `POST /api-keys/${id}/rotate`, rotation)).toMatchObject(forbidden);
      expect(await send(key.secret, `PATCH /api-keys/${id}`, { body: { name: "x" } })).toMatchObject(
        forbidden,
      );
      expect(await send(key.secret, `DELETE /api-keys/${id}`)).toMatchObject(forbidden);
    }
    expect(await send(key.secret, "POST /api-keys/current/revoke")).toMatchObject({ status: 204 });
    expect(await send(key.secret, "GET /me")).toMatchObject(forbidden);
    expect(await send(String(body.key), "GET /me")).toMatchObject({ status: 200 });
  });

  test("is authorized on a retry like any request", async () => {
    const key = await addKey();
    const other = await addKey({}, key.userId);
    const reading = await addKey({ isReadOnly: true }, key.userId);
    const request = `POST /api-keys/${other.id}/rotate`;
    const named = { body: { overlapSeconds: hour }, "Idempotency-Key": "once" };
    expect(await send(key.secret, request, named)).toMatchObject({ status: 200 });
    expect(await send(reading.secret, request, named)).toMatchObject(forbidden);
  });

  test("succeeds for more concurrent users than there are database connections", async () => {
    const keys = await Promise.all(Array.from({ length: 12 }, () => addKey()));
    const responses = await Promise.all(
      keys.map(({ id, secret }) =>
        send(secret, `POST /api-keys/${id}/rotate`, { body: { overlapSeconds: 0 }, "Idempotency-Key": "a" }),
      ),
    );
    expect(responses.map(({ status }) => status)).toEqual(keys.map(() => 200));
  });

  test.each([1, 5_400, 2_592_000])("accepts an overlap of %i s", async (overlapSeconds) => {
    const key = await addKey();
    const rotation = { body: { overlapSeconds } };
    const startedAt = performance.now();
    const { status, body } = await send(key.secret, `POST /api-keys/${key.id}/rotate`, rotation);
    expect(status).toBe(200);
    const tookMs = performance.now() - startedAt;
    const { body: rotated } = await send(String(body.key), `GET /api-keys/${key.id}`);
    const [former] = rotated.formerSecrets as { goodUntil: string; retiredAt: string }[];
    // The database reads its clock separately for each of the two times, while it handles the request.
    const lengthMs = Date.parse(former?.goodUntil ?? "") - Date.parse(former?.retiredAt ?? "");
    expect(Math.abs(lengthMs - overlapSeconds * 1_000)).toBeLessThanOrEqual(Math.ceil(tookMs));
  });

  test.each([-1, 0.5, 2_592_001, "1h", null])("with an overlap of %j is rejected", async (overlapSeconds) => {
    const key = await addKey();
    expect(
      await send(key.secret, `POST /api-keys/${key.id}/rotate`, { body: { overlapSeconds } }),
    ).toMatchObject({ status: 400, body: { error: { issues: [{ path: "overlapSeconds" }] } } });
  });
});
