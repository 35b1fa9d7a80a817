// Changes of several issued keys in one call.
import { createId, encodeId } from "@latchkey/db/ids";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createIssuedKeyClient, type Space } from "./issued-key-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { addSpace, addKey, readCounter, listEvents, verify } = createIssuedKeyClient(() => app);

const change = ({ call }: Space, body: object, headers?: Readonly<Record<string, string>>) =>
  call(["POST", "/bulk"], body, headers);

test("all keys of a consumer are disabled, enabled and deleted, and no other key", async () => {
  const space = await addSpace();
  const keys = [
    await addKey(space, { externalId: "acme", name: "One" }),
    await addKey(space, { externalId: "acme", name: "Two", isDisabled: true }),
  ] as const;
  const other = await addKey(space, { externalId: "globex" });
  const [one, two] = keys;
  const codes = async () => [
    (await verify(space, one.secret)).code,
    (await verify(space, two.secret)).code,
    (await verify(space, other.secret)).code,
  ];
  expect(await codes()).toEqual(["VALID", "DISABLED", "VALID"]);
  const disabled = await change(space, { action: "disable", externalId: "acme" });
  expect(disabled).toMatchObject({
    status: 200,
    body: { changed: [one.id], unchanged: [two.id], notFound: [] },
  });
  expect(await codes()).toEqual(["DISABLED", "DISABLED", "VALID"]);
  expect((await space.call(["GET", `/${one.id}`])).body).toMatchObject({ isDisabled: true, version: 2 });
  expect((await space.call(["GET", `/${two.id}`])).body).toMatchObject({ isDisabled: true, version: 1 });
  const enabled = await change(space, { action: "enable", externalId: "acme" });
  expect(enabled.body).toEqual({ changed: [one.id, two.id], unchanged: [], notFound: [] });
  expect(await codes()).toEqual(["VALID", "VALID", "VALID"]);
  const deleted = await change(space, { action: "delete", externalId: "acme" });
  expect(deleted.body).toEqual({ changed: [one.id, two.id], unchanged: [], notFound: [] });
  expect(await codes()).toEqual(["NOT_FOUND", "NOT_FOUND", "VALID"]);
  expect(await readCounter(one.uuid)).toBeUndefined();
  expect((await change(space, { action: "delete", externalId: "acme" })).body).toEqual({
    changed: [],
    unchanged: [],
    notFound: [],
  });
  const nobody = await change(space, { action: "delete", externalId: "nobody" });
  expect([nobody.status, nobody.body]).toEqual([200, { changed: [], unchanged: [], notFound: [] }]);
  const start = expect.any(String);
  const event = (action: string, name: string) =>
    action === "deleted"
      ? { action: `issued-key.${action}`, before: { name, start, externalId: "acme" }, after: null }
      : { action: `issued-key.${action}`, before: null, after: { name, start } };
  expect((await listEvents(space)).slice(3)).toEqual([
    event("disabled", "One"),
    event("enabled", "One"),
    event("enabled", "Two"),
    event("deleted", "One"),
    event("deleted", "Two"),
  ]);
});

test("a change gives all keys of a consumer the same settings, keeps the others, and null clears", async () => {
  const space = await addSpace({ defaultPermissions: ["reports.read"] });
  const limits = [{ name: "requests", quota: 100, windowSeconds: 60, appliesAlways: true }];
  const kept = { name: "One", credits: { remaining: 5, refill: null }, externalId: "acme" };
  const one = await addKey(space, { ...kept, meta: { a: 1, b: { c: [2] } } });
  const two = await addKey(space, { externalId: "acme", permissions: ["documents.*"], limits });
  const other = await addKey(space, { externalId: "globex" });
  const edit = async (changes: object) =>
    (await change(space, { action: "change", externalId: "acme", changes })).body;
  const read = async ({ id }: { readonly id: string }) => (await space.call(["GET", `/${id}`])).body;
  const [formerOne, formerTwo, formerOther] = [await read(one), await read(two), await read(other)];

  expect(await edit({ permissions: ["documents.*"], limits })).toEqual({
    changed: [one.id],
    unchanged: [two.id],
    notFound: [],
  });
  expect(await read(one)).toEqual({ ...formerOne, permissions: ["documents.*"], limits, version: 2 });
  expect(await verify(space, one.secret)).toMatchObject({
    permissions: ["documents.*"],
    limits: [{ name: "requests", remaining: 99 }],
  });
  expect((await edit({ meta: { b: { c: [2] }, a: 1 } })).changed).toEqual([two.id]);

  const cleared = { permissions: null, expiresAt: null, limits: null, ipRanges: null, meta: null };
  const expiresAt = "2999-01-01T00:00:00.000Z";
  const ipRanges = ["192.0.2.0/24"];
  expect((await edit({ expiresAt, ipRanges })).changed).toEqual([one.id, two.id]);
  expect(await read(two)).toMatchObject({ expiresAt, ipRanges, permissions: ["documents.*"], version: 3 });
  expect((await edit(cleared)).changed).toEqual([one.id, two.id]);
  const empty = { permissions: [], expiresAt: null, limits: [], ipRanges: null, meta: {} };
  expect(await read(two)).toEqual({ ...formerTwo, ...empty, version: 4 });
  expect(await read(other)).toEqual(formerOther);

  const events = (await listEvents(space)).slice(3);
  expect(events).toHaveLength(6);
  expect(events[0]).toEqual({
    action: "issued-key.changed",
    before: { permissions: "reports.read", limits: null },
    after: { name: "One", start: expect.any(String), permissions: "documents.*", limits: "requests 100/60s" },
  });
  expect(events[1]).toMatchObject({ after: { isMetaChanged: true } });
});

test("a limit that is removed and added again starts anew, in changes of one key and of several", async () => {
  const space = await addSpace();
  const requests = { name: "requests", quota: 1, windowSeconds: 3_600, appliesAlways: true };
  const exports = { ...requests, name: "exports" };
  const limits = [requests, exports];
  const codeOf = async ({ secret }: { readonly secret: string }) => (await verify(space, secret)).code;
  const changeOne = ({ id }: { readonly id: string }, changes: object) =>
    space.call(["PATCH", `/${id}`], changes);
  const changeSeveral = ({ id }: { readonly id: string }, changes: object) =>
    change(space, { action: "change", keyIds: [id], changes });
  for (const edit of [changeOne, changeSeveral]) {
    const key = await addKey(space, { limits });
    expect([await codeOf(key), await codeOf(key)]).toEqual(["VALID", "RATE_LIMITED"]);
    // An edit that keeps the limits keeps their windows.
    expect((await edit(key, { meta: { a: 1 } })).status).toBe(200);
    expect((await edit(key, { limits: [exports] })).status).toBe(200);
    expect((await edit(key, { limits })).status).toBe(200);
    expect(await codeOf(key)).toBe("RATE_LIMITED");
    expect((await edit(key, { limits: [requests] })).status).toBe(200);
    expect([await codeOf(key), await codeOf(key)]).toEqual(["VALID", "RATE_LIMITED"]);
    expect((await edit(key, { limits: null })).status).toBe(200);
    expect((await edit(key, { limits: [requests] })).status).toBe(200);
    expect(await codeOf(key)).toBe("VALID");
  }
});

test("keys are chosen by their IDs, and keys of other keyspaces and workspaces are not found", async () => {
  const space = await addSpace();
  const sibling = await addSpace({}, space.team);
  const foreign = await addSpace();
  const own = await addKey(space);
  const others = [await addKey(sibling), await addKey(foreign)] as const;
  const unknown = encodeId("issuedKey", createId("issuedKey"));
  const keyIds = [unknown, own.id, ...others.map(({ id }) => id), own.id];
  const { status, body } = await change(space, { action: "delete", keyIds });
  expect([status, body]).toEqual([
    200,
    { changed: [own.id], unchanged: [], notFound: [unknown, ...others.map(({ id }) => id)] },
  ]);
  expect(await verify(sibling, others[0].secret)).toMatchObject({ code: "VALID" });
  expect(await verify(foreign, others[1].secret)).toMatchObject({ code: "VALID" });
});

test("1,000 keys are changed by one call, each with an event", async () => {
  const space = await addSpace();
  const { uuid } = await addKey(space);
  await sql`
    with copied as (
      insert into issued_keys (workspace_id, keyspace_id, id, hash, start)
      select workspace_id, keyspace_id, gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), start
      from issued_keys, generate_series(1, 999) where id = ${uuid}
      returning id
    )
    insert into key_counters (key_id) select id from copied`.execute(app.owner);
  const { rows } = await sql<{ id: never }>`
    select id from issued_keys where workspace_id = ${space.team.scope.workspaceId}`.execute(app.owner);
  const keyIds = rows.map(({ id }) => encodeId("issuedKey", id));
  const changeAll = (request: object) => change(space, { ...request, keyIds });
  const { status, body } = await changeAll({ action: "disable" });
  expect(status).toBe(200);
  expect(body.changed).toHaveLength(1_000);
  const counted = await sql`
    select
      (select count(*) from audit_events where workspace_id = ${space.team.scope.workspaceId}
        and action = 'issued-key.disabled') as events,
      (select count(*) from key_counters where version = 2 and key_id = any(${rows.map(({ id }) => id)}::uuid[]))
        as counters`.execute(app.owner);
  expect(counted.rows).toEqual([{ events: 1_000, counters: 1_000 }]);
  const edit = { action: "change", changes: { meta: { text: "x".repeat(4_000) } } };
  expect((await changeAll(edit)).body.changed).toHaveLength(1_000);
  expect((await changeAll(edit)).body.unchanged).toHaveLength(1_000);
  const { rows: edited } = await sql`
    select count(*), max(length(coalesce(after::text, ''))) < 1000 as "areShort" from audit_events
    where workspace_id = ${space.team.scope.workspaceId} and action = 'issued-key.changed'`.execute(
    app.owner,
  );
  expect(edited).toEqual([{ count: 1_000, areShort: true }]);
  const readState = async () => {
    const state = await sql`
      select
        (select count(*) from issued_key_permissions where key_id = any(${rows.map(({ id }) => id)}::uuid[])) as written,
        (select count(*) from audit_events where workspace_id = ${space.team.scope.workspaceId}) as events,
        (select sum(version) from key_counters where key_id = any(${rows.map(({ id }) => id)}::uuid[])) as versions`.execute(
      app.owner,
    );
    return state.rows[0];
  };
  const give = (count: number) => {
    const permissions = Array.from({ length: count }, (_, index) => `documents.${index}`);
    return changeAll({ action: "change", changes: { permissions } });
  };
  const given = await give(20);
  expect(given.status).toBe(200);
  expect(given.body.changed).toHaveLength(1_000);
  const before = await readState();
  expect(before).toMatchObject({ written: 20_000 });
  const tooLarge = await give(21);
  expect([tooLarge.status, tooLarge.body.error]).toMatchObject([
    400,
    { issues: [{ path: "changes.permissions", code: "too_large" }] },
  ]);
  expect(await readState()).toEqual(before);
  const tooMany = await change(space, { action: "disable", keyIds: [...keyIds, keyIds[0]] });
  expect([tooMany.status, tooMany.body.error]).toMatchObject([400, { issues: [{ path: "keyIds" }] }]);
});

test.each([
  [{ action: "disable" }, ""],
  [{ action: "disable", externalId: "acme", keyIds: ["ikey_01h455vb4pex5vsknk084sn02q"] }, ""],
  [{ action: "rotate", externalId: "acme" }, "action"],
  [{ action: "change", externalId: "acme" }, "changes"],
  [{ action: "change", externalId: "acme", changes: {} }, "changes"],
  [{ action: "change", externalId: "acme", changes: { name: "x" } }, "changes.name"],
  [{ action: "change", externalId: "acme", changes: { permissions: ["a b"] } }, "changes.permissions.0"],
  [
    { action: "change", externalId: "acme", changes: { expiresAt: "2020-01-01T00:00:00Z" } },
    "changes.expiresAt",
  ],
  [{ action: "disable", externalId: "acme", changes: { meta: null } }, "changes"],
  [{ action: "disable", keyIds: [] }, "keyIds"],
  [{ action: "disable", keyIds: ["ks_01h455vb4pex5vsknk084sn02q"] }, "keyIds.0"],
])("rejects %j", async (body, path) => {
  const { status, body: answer } = await change(await addSpace(), body);
  expect([status, answer.error]).toMatchObject([400, { issues: [{ path }] }]);
});

test("a repeated request is applied once", async () => {
  const space = await addSpace();
  const { id } = await addKey(space, { externalId: "acme" });
  const disable = () =>
    change(space, { action: "disable", externalId: "acme" }, { "Idempotency-Key": "one" });
  const first = await disable();
  await space.call(["PATCH", `/${id}`], { isDisabled: false });
  expect(await disable()).toMatchObject({ status: 200, replayed: "true", body: first.body });
  expect((await space.call(["GET", `/${id}`])).body.isDisabled).toBe(false);
});

test("changes of several keys, of one key and verifications run at the same time", async () => {
  const space = await addSpace();
  const keys = await Promise.all(Array.from({ length: 8 }, () => addKey(space, { externalId: "acme" })));
  const ids = keys.map(({ id }) => id);
  await Promise.all(
    Array.from({ length: 6 }, async (_, round) => {
      const bulkEdit = { action: "change", changes: { meta: { round } } };
      const edit = [{ action: "disable" }, { action: "enable" }, bulkEdit][round % 3];
      const keyIds = round % 2 === 0 ? ids : ids.toReversed();
      const [bulk, single, verified] = await Promise.all([
        change(space, { ...edit, keyIds }),
        space.call(["PATCH", `/${ids[round % 8]}`], { name: String(round) }),
        verify(space, String(keys[(round * 3) % 8]?.secret)),
      ]);
      expect([bulk.status, single.status]).toEqual([200, 200]);
      expect(["VALID", "DISABLED"]).toContain(verified.code);
    }),
  );
});
