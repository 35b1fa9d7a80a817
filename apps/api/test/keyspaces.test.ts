// Keyspaces of a workspace: values, versions, audit events, quotas and deletion.
import { randomUUID } from "node:crypto";
import { decodeId, type KeyspaceId } from "@latchkey/db/ids";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createOpenClient, type OpenReply } from "./open-client.ts";
import { addTeam, type Team } from "./team.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ quotas: { keyspacesPerWorkspace: 5 } });
});
afterAll(() => app.close());

const { send } = createOpenClient(() => app);

const fields = { name: "Production", prefix: "sk_live" };

/** Calls as the owner of the team. */
function call(
  { owner, path }: Team,
  [method, subpath]: readonly [method: string, path: string],
  body?: object,
  headers?: Readonly<Record<string, string>>,
): Promise<OpenReply> {
  return send(owner.secret, [method, `${path}/keyspaces${subpath}`], body, headers);
}

async function addKeyspace(team: Team, values: object = fields): Promise<{ id: string; uuid: KeyspaceId }> {
  const { status, body } = await call(team, ["POST", ""], values);
  expect(status).toBe(201);
  const id = String(body.id);
  return { id, uuid: decodeId("keyspace", id) as KeyspaceId }; // The API has just created it.
}

/** Adds keys to a keyspace, each with a counter. */
async function addKeys(team: Team, keyspaceId: KeyspaceId, count: number): Promise<readonly string[]> {
  const { workspaceId } = team.scope;
  const { rows } = await sql<{ id: string }>`
    insert into issued_keys (workspace_id, keyspace_id, id, hash, start)
    select ${workspaceId}, ${keyspaceId}, gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), 'sk_live_abcdef'
    from generate_series(1, ${count}::integer) returning id`.execute(app.owner);
  const ids = rows.map(({ id }) => id);
  await sql`insert into key_counters (key_id) select unnest(${ids}::uuid[])`.execute(app.owner);
  return ids;
}

async function readOwnerVersion(id: string): Promise<number> {
  const { rows } = await sql<{ version: number }>`
    select version from owner_versions where owner_id = ${id}`.execute(app.owner);
  return rows[0]?.version ?? 0;
}

async function listEvents(team: Team): Promise<readonly unknown[]> {
  const { body } = await send(team.owner.secret, ["GET", `${team.path}/audit-events?sort=occurredAt`]);
  const events = body.data as { action: string; target: object; before: unknown; after: unknown }[];
  return events
    .filter(({ action }) => action.startsWith("keyspace."))
    .map(({ action, target, before, after }) => ({ action, target, before, after }));
}

const limits = [
  { name: "requests", quota: 100, windowSeconds: 60, appliesAlways: true },
  { name: "exports", quota: 5, windowSeconds: 2_592_000, appliesAlways: false },
];

test("a keyspace has defaults, and can be read as it was created", async () => {
  const team = await addTeam(app);
  const { status, body, etag } = await call(team, ["POST", ""], fields);
  expect([status, body]).toEqual([
    201,
    {
      id: expect.stringMatching(/^ks_[0-9a-z]{26}$/),
      ...fields,
      environment: "",
      defaultLifetimeDays: null,
      defaultPermissions: [],
      defaultLimits: [],
      defaultCredits: null,
      isDisabled: false,
      disabledAt: null,
      keyCount: 0,
      createdAt: expect.any(String),
      version: 1,
    },
  ]);
  const read = await call(team, ["GET", `/${body.id}`]);
  expect([read.status, read.body]).toEqual([200, body]);
  expect(read.etag).toBe(etag);
});

test("all fields can be set, and changed one by one", async () => {
  const team = await addTeam(app);
  const refill = { amount: 1_000, interval: "monthly", day: 31 };
  const values = {
    name: "Production",
    prefix: "sk_live",
    environment: "production",
    defaultLifetimeDays: 365,
    defaultPermissions: ["documents.read", "documents.*", "*"],
    defaultLimits: limits,
    defaultCredits: { remaining: 500, refill },
  };
  const { id } = await addKeyspace(team, values);
  expect((await call(team, ["GET", `/${id}`])).body).toMatchObject(values);
  const changes = {
    name: "Staging",
    prefix: "sk_test",
    environment: "",
    defaultLifetimeDays: null,
    defaultPermissions: [],
    defaultLimits: [{ name: "requests", quota: 1, windowSeconds: 1 }],
    defaultCredits: null,
  };
  for (const [name, value] of Object.entries(changes)) {
    const before = (await call(team, ["GET", `/${id}`])).body;
    const { status, body } = await call(team, ["PATCH", `/${id}`], { [name]: value });
    const expected =
      name === "defaultLimits" ? [{ ...changes.defaultLimits[0], appliesAlways: true }] : value;
    expect([status, body]).toEqual([
      200,
      { ...before, [name]: expected, version: Number(before.version) + 1 },
    ]);
  }
});

test("permissions and the items of the limits are normalized", async () => {
  const team = await addTeam(app);
  const values = {
    ...fields,
    defaultPermissions: ["a", "b", "a"],
    defaultCredits: { remaining: 1, refill: { amount: 5, interval: "daily" } },
  };
  const { id } = await addKeyspace(team, values);
  expect((await call(team, ["GET", `/${id}`])).body).toMatchObject({
    defaultPermissions: ["a", "b"],
    defaultCredits: { remaining: 1, refill: { amount: 5, interval: "daily", day: null } },
  });
});

describe("rejects", () => {
  let team: Team;
  beforeAll(async () => {
    team = await addTeam(app);
  });
  const limit = { name: "requests", quota: 1, windowSeconds: 1 };
  const refill = { amount: 1, interval: "daily" };
  test.each<readonly [string, object, string]>([
    ["no name", { name: " " }, "name"],
    ["a long name", { name: "x".repeat(101) }, "name"],
    ["a name with an API key", { name: `lk_${"0".repeat(36)}` }, "name"],
    ["the prefix lk", { prefix: "lk" }, "prefix"],
    ["a prefix that starts with lk_", { prefix: "lk_live" }, "prefix"],
    ["a prefix in upper case", { prefix: "SK" }, "prefix"],
    ["a short prefix", { prefix: "x" }, "prefix"],
    ["a long prefix", { prefix: "x".repeat(17) }, "prefix"],
    ["a long environment", { environment: "x".repeat(51) }, "environment"],
    ["an environment of two lines", { environment: "a\nb" }, "environment"],
    ["a lifetime of no days", { defaultLifetimeDays: 0 }, "defaultLifetimeDays"],
    ["a lifetime of more than 10 years", { defaultLifetimeDays: 3_651 }, "defaultLifetimeDays"],
    ["an empty permission", { defaultPermissions: [""] }, "defaultPermissions.0"],
    ["a wildcard in the middle", { defaultPermissions: ["a.*.b"] }, "defaultPermissions.0"],
    ["a part of a wildcard", { defaultPermissions: ["a", "docs*"] }, "defaultPermissions.1"],
    ["a long permission", { defaultPermissions: ["x".repeat(129)] }, "defaultPermissions.0"],
    [
      "101 permissions",
      { defaultPermissions: Array.from({ length: 101 }, (_, n) => `p${n}`) },
      "defaultPermissions",
    ],
    ["two limits with one name", { defaultLimits: [limit, limit] }, "defaultLimits"],
    [
      "11 limits",
      { defaultLimits: Array.from({ length: 11 }, (_, n) => ({ ...limit, name: `l${n}` })) },
      "defaultLimits",
    ],
    [
      "a limit with a dot in its name",
      { defaultLimits: [{ ...limit, name: "a.b" }] },
      "defaultLimits.0.name",
    ],
    ["a limit of 0", { defaultLimits: [{ ...limit, quota: 0 }] }, "defaultLimits.0.quota"],
    ["a limit of more than 1e9", { defaultLimits: [{ ...limit, quota: 1e9 + 1 }] }, "defaultLimits.0.quota"],
    ["a window of 0 s", { defaultLimits: [{ ...limit, windowSeconds: 0 }] }, "defaultLimits.0.windowSeconds"],
    [
      "a window of 31 days",
      { defaultLimits: [{ ...limit, windowSeconds: 2_592_001 }] },
      "defaultLimits.0.windowSeconds",
    ],
    ["negative credits", { defaultCredits: { remaining: -1 } }, "defaultCredits.remaining"],
    ["credits of more than 1e12", { defaultCredits: { remaining: 1e12 + 1 } }, "defaultCredits.remaining"],
    ["half a credit", { defaultCredits: { remaining: 0.5 } }, "defaultCredits.remaining"],
    [
      "a refill of 0",
      { defaultCredits: { remaining: 1, refill: { ...refill, amount: 0 } } },
      "defaultCredits.refill.amount",
    ],
    [
      "a daily refill with a day",
      { defaultCredits: { remaining: 1, refill: { ...refill, day: 1 } } },
      "defaultCredits.refill.day",
    ],
    [
      "a monthly refill without a day",
      { defaultCredits: { remaining: 1, refill: { ...refill, interval: "monthly" } } },
      "defaultCredits.refill.day",
    ],
    [
      "a refill on day 32",
      { defaultCredits: { remaining: 1, refill: { amount: 1, interval: "monthly", day: 32 } } },
      "defaultCredits.refill.day",
    ],
  ])("%s", async (_what, change, path) => {
    const { status, body } = await call(team, ["POST", ""], { ...fields, ...change });
    expect([status, body.error]).toMatchObject([400, { issues: [{ path }] }]);
    const { body: list } = await call(team, ["GET", ""]);
    expect(list.data).toEqual([]);
  });
});

test("disabling and enabling a keyspace increments its version as an owner, and other changes don't", async () => {
  const team = await addTeam(app);
  const { id, uuid } = await addKeyspace(team);
  expect(await readOwnerVersion(uuid)).toBe(0);
  const disabled = await call(team, ["PATCH", `/${id}`], { isDisabled: true });
  expect(disabled.body).toMatchObject({ isDisabled: true, disabledAt: expect.any(String) });
  expect(await readOwnerVersion(uuid)).toBe(1);
  const again = await call(team, ["PATCH", `/${id}`], { isDisabled: true, name: "Paused" });
  expect(again.body).toMatchObject({ isDisabled: true, disabledAt: disabled.body.disabledAt });
  expect(await readOwnerVersion(uuid)).toBe(1);
  expect((await call(team, ["PATCH", `/${id}`], { isDisabled: false })).body).toMatchObject({
    isDisabled: false,
    disabledAt: null,
  });
  expect(await readOwnerVersion(uuid)).toBe(2);
});

test("every change is in the audit log, with the values that changed", async () => {
  const team = await addTeam(app);
  const { id } = await addKeyspace(team);
  const refill = { amount: 10, interval: "monthly", day: 1 };
  await call(team, ["PATCH", `/${id}`], {
    name: "Paid",
    defaultPermissions: ["a", "b"],
    defaultLimits: limits,
    defaultCredits: { remaining: 5, refill },
  });
  await call(team, ["PATCH", `/${id}`], { isDisabled: true });
  await call(team, ["PATCH", `/${id}`], { isDisabled: false, name: "Paid" });
  expect((await call(team, ["DELETE", `/${id}`])).status).toBe(204);
  const target = { kind: "keyspace", id, name: null, userKind: null, owner: null };
  const none = { defaultPermissions: null, defaultLimits: null, defaultCredits: null };
  expect(await listEvents(team)).toEqual([
    {
      action: "keyspace.created",
      target,
      before: null,
      after: { ...fields, environment: "", defaultLifetimeDays: null, ...none },
    },
    {
      action: "keyspace.changed",
      target,
      before: { name: "Production", ...none },
      after: {
        name: "Paid",
        defaultPermissions: "a, b",
        defaultLimits: "requests 100/60s, exports 5/2592000s when named",
        defaultCredits: "5, refilled to 10 monthly on day 1",
      },
    },
    { action: "keyspace.disabled", target, before: null, after: { name: "Paid" } },
    { action: "keyspace.enabled", target, before: null, after: { name: "Paid" } },
    { action: "keyspace.deleted", target, before: { name: "Paid", prefix: "sk_live", keys: 0 }, after: null },
  ]);
});

test("an edit without fields, of an unknown keyspace or of an old version is rejected", async () => {
  const team = await addTeam(app);
  const { id } = await addKeyspace(team);
  const empty = await call(team, ["PATCH", `/${id}`], {});
  expect([empty.status, empty.body.error]).toMatchObject([400, { issues: [{ code: "no_changes" }] }]);
  const unknown = `/ks_01h455vb4pex5vsknk084sn02q`;
  for (const request of [
    ["GET", unknown],
    ["PATCH", unknown],
    ["DELETE", unknown],
    ["GET", `${unknown}/deletion-preview`],
  ] as const) {
    const { status, body } = await call(team, request, request[0] === "PATCH" ? { name: "x" } : undefined);
    expect([status, body.error]).toMatchObject([404, { code: "NOT_FOUND" }]);
  }
  for (const request of [
    ["PATCH", `/${id}`],
    ["DELETE", `/${id}`],
  ] as const) {
    const body = request[0] === "PATCH" ? { name: "x" } : undefined;
    expect((await call(team, request, body, { "If-Match": '"7"' })).status).toBe(412);
  }
  const { etag } = await call(team, ["GET", `/${id}`]);
  expect((await call(team, ["PATCH", `/${id}`], { name: "x" }, { "If-Match": etag })).status).toBe(200);
  expect((await call(team, ["PATCH", `/${id}`], { name: "y" }, { "If-Match": etag })).status).toBe(412);
});

test("of two concurrent edits of one version, one is rejected", async () => {
  const team = await addTeam(app);
  const { id } = await addKeyspace(team);
  const edits = ["a", "b"].map((name) => call(team, ["PATCH", `/${id}`], { name }, { "If-Match": '"1"' }));
  expect((await Promise.all(edits)).map(({ status }) => status).sort()).toEqual([200, 412]);
});

test("the list is searched, filtered, sorted and paged", async () => {
  const team = await addTeam(app);
  await addKeyspace(team, { name: "Beta", prefix: "beta", environment: "staging" });
  const { id } = await addKeyspace(team, { name: "Alpha", prefix: "sk_live", environment: "production" });
  await addKeyspace(team, { name: "Gamma", prefix: "gamma" });
  await call(team, ["PATCH", `/${id}`], { isDisabled: true });
  const list = async (query: string) => {
    const { body } = await call(team, ["GET", `?${query}`]);
    const { hasMore, nextCursor, data = [] } = body;
    return { hasMore, nextCursor, names: data.map(({ name }) => name) };
  };
  expect((await list("")).names).toEqual(["Beta", "Alpha", "Gamma"]);
  expect((await list("sort=-name")).names).toEqual(["Gamma", "Beta", "Alpha"]);
  expect((await list("search=PRODUCT")).names).toEqual(["Alpha"]);
  expect((await list("search=sk_")).names).toEqual(["Alpha"]);
  expect((await list("search=%25")).names).toEqual([]);
  expect((await list("status=disabled")).names).toEqual(["Alpha"]);
  expect((await list("status=enabled")).names).toEqual(["Beta", "Gamma"]);
  const first = await list("sort=name&limit=2");
  expect([first.names, first.hasMore]).toEqual([["Alpha", "Beta"], true]);
  const second = await list(`sort=name&limit=2&cursor=${first.nextCursor}`);
  expect([second.names, second.hasMore, second.nextCursor]).toEqual([["Gamma"], false, null]);
  expect((await call(team, ["GET", "?cursor=x"])).status).toBe(400);
});

test("concurrent creations stop exactly at the quota, and deleting a keyspace makes room", async () => {
  const team = await addTeam(app);
  const replies = await Promise.all(Array.from({ length: 12 }, () => call(team, ["POST", ""], fields)));
  const statuses = replies.map(({ status }) => status);
  expect(statuses.filter((status) => status === 201)).toHaveLength(5);
  const rejected = replies.find(({ status }) => status !== 201);
  expect([rejected?.status, rejected?.body.error]).toMatchObject([
    422,
    { issues: [{ code: "quota_exceeded" }] },
  ]);
  const id = replies.find(({ status }) => status === 201)?.body.id;
  await call(team, ["DELETE", `/${id}`]);
  expect((await call(team, ["POST", ""], fields)).status).toBe(201);
});

test("a request with an Idempotency-Key creates one keyspace", async () => {
  const team = await addTeam(app);
  const create = () => call(team, ["POST", ""], fields, { "Idempotency-Key": "one" });
  const [first, second] = [await create(), await create()];
  expect(second.body).toEqual(first.body);
  expect(second.replayed).not.toBe("");
  expect((await call(team, ["GET", ""])).body.data).toHaveLength(1);
});

test("the preview and the keyspace have the number of keys, and the preview their last use", async () => {
  const team = await addTeam(app);
  const { id, uuid } = await addKeyspace(team);
  const preview = async () => (await call(team, ["GET", `/${id}/deletion-preview`])).body;
  const none = { keyCount: 0, activeKeyCount: 0, isActiveKeyCountPartial: false };
  expect(await preview()).toEqual({ ...none, lastUsedAt: null, isPartial: false });
  const keys = await addKeys(team, uuid, 3);
  const other = await addKeyspace(team);
  const [otherKey] = await addKeys(team, other.uuid, 1);
  const { etag: before } = await call(team, ["GET", `/${id}`]);
  const use = (key: string | undefined, at: string) =>
    sql`update key_counters set last_used_at = ${at} where key_id = ${key}`.execute(app.owner);
  await use(keys[0], "2027-01-02T00:00:00Z");
  await use(keys[2], "2027-01-01T00:00:00Z");
  await use(otherKey, "2027-01-03T00:00:00Z");
  const three = { ...none, keyCount: 3, lastUsedAt: "2027-01-02T00:00:00.000Z", isPartial: false };
  expect(await preview()).toEqual({ ...three, activeKeyCount: 3 });
  await sql`update issued_keys set disabled_at = now() where id = ${keys[0]}`.execute(app.owner);
  await sql`update issued_keys set expires_at = now() where id = ${keys[1]}`.execute(app.owner);
  expect(await preview()).toEqual({ ...three, activeKeyCount: 1 });
  const { body, etag } = await call(team, ["GET", `/${id}`]);
  expect(body.keyCount).toBe(3);
  expect(etag).toBe(before);
  await addKeys(team, uuid, 1);
  const added = await call(team, ["GET", `/${id}`], undefined, { "If-None-Match": etag });
  expect(added).toMatchObject({ status: 200, body: { keyCount: 4, version: body.version } });
});

test("with more than 10,000 keys, the preview counts the active keys among the newest 10,000", async () => {
  const team = await addTeam(app);
  const { id, uuid } = await addKeyspace(team);
  const preview = async () => (await call(team, ["GET", `/${id}/deletion-preview`])).body;
  const [oldest, disabled] = await addKeys(team, uuid, 10_000);
  await sql`update issued_keys set created_at = now() - interval '1 day' where id = ${oldest}`.execute(
    app.owner,
  );
  await sql`update issued_keys set disabled_at = now() where id = ${disabled}`.execute(app.owner);
  const unused = { activeKeyCount: 9_999, lastUsedAt: null };
  const exact = { keyCount: 10_000, isActiveKeyCountPartial: false, isPartial: false };
  expect(await preview()).toEqual({ ...unused, ...exact });
  await addKeys(team, uuid, 1);
  // The oldest key is active too, but isn't counted.
  const partial = { keyCount: 10_001, isActiveKeyCountPartial: true, isPartial: true };
  expect(await preview()).toEqual({ ...unused, ...partial });
});

test("deleting a keyspace increments its version as an owner, and changes no row of its keys", async () => {
  const team = await addTeam(app);
  const { id, uuid } = await addKeyspace(team);
  const keys = await addKeys(team, uuid, 3);
  const readKeys = async () => {
    const { rows } = await sql`
      select xmin, version from issued_keys where id = any(${keys}::uuid[])
      union all select xmin, version from key_counters where key_id = any(${keys}::uuid[])`.execute(
      app.owner,
    );
    return rows;
  };
  const before = await readKeys();
  expect((await call(team, ["DELETE", `/${id}`])).status).toBe(204);
  expect((await call(team, ["DELETE", `/${id}`])).status).toBe(404);
  expect(await readOwnerVersion(uuid)).toBe(1);
  expect(await readKeys()).toEqual(before);
});

test("a key that is restricted to reading keyspaces can't change them", async () => {
  const team = await addTeam(app);
  const { id } = await addKeyspace(team);
  const { key } = await team.owner.client.apiKeys.create.mutate({
    name: randomUUID(),
    settings: { permissions: ["keyspaces:read"] },
  });
  const path = `${team.path}/keyspaces`;
  expect((await send(key, ["GET", `${path}/${id}`])).status).toBe(200);
  for (const [method, subpath, body] of [
    ["POST", "", fields],
    ["PATCH", `/${id}`, { name: "x" }],
    ["DELETE", `/${id}`, undefined],
  ] as const)
    expect((await send(key, [method, `${path}${subpath}`], body)).status).toBe(403);
  expect((await send(key, ["GET", team.path])).status).toBe(403);
});
