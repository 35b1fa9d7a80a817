// Keys that a workspace issues: values, defaults, secrets, versions, audit events, lists and quotas.
import { createHash } from "node:crypto";
import { decodeId } from "@latchkey/db/ids";
import { passEndOf } from "@latchkey/db/testing/pass-end-of";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createIssuedKeyClient, type Space } from "./issued-key-client.ts";
import { createOpenClient } from "./open-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ quotas: { issuedKeysPerWorkspace: 1_003 } });
});
afterAll(() => app.close());
// Daily refills are due at midnight.
beforeEach(() => passEndOf("day"));

const { send } = createOpenClient(() => app);

const { addSpace, addKey, readCounter, listEvents, verify } = createIssuedKeyClient(() => app);

const digest = (secret: string) => createHash("sha256").update(secret).digest();

async function findByHash(secret: string): Promise<readonly unknown[]> {
  const { rows } = await sql`
    select id, 'current' as kind from issued_keys where hash = ${digest(secret)}
    union all
    select key_id, case when good_until > clock_timestamp() then 'valid' else 'revoked' end
    from retired_issued_secrets where hash = ${digest(secret)}`.execute(app.owner);
  return rows;
}

const limit = { name: "requests", quota: 100, windowSeconds: 60, appliesAlways: true };
const refill = { amount: 10, interval: "monthly", day: 1 };

describe("creation", () => {
  test("a key has defaults, its secret is returned once, and only its hash is stored", async () => {
    const space = await addSpace();
    const { status, body } = await space.call(["POST", ""], {});
    expect([status, body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^ikey_[0-9a-z]{26}$/),
        keyspaceId: space.id,
        name: "",
        start: expect.stringMatching(/^sk_live_[0-9A-Za-z]{6}$/),
        externalId: null,
        meta: {},
        permissions: [],
        limits: [],
        credits: null,
        expiresAt: null,
        isDisabled: false,
        ipRanges: null,
        status: "active",
        createdAt: expect.any(String),
        lastUsedAt: null,
        usageCount: 0,
        formerSecrets: [],
        version: 1,
        key: expect.stringMatching(/^sk_live_[0-9A-Za-z]{36}$/),
        secretStatus: "issued",
      },
    ]);
    const { key, secretStatus: _status, ...shown } = body;
    expect(String(key).startsWith(String(body.start))).toBe(true);
    expect((await space.call(["GET", `/${body.id}`])).body).toEqual(shown);
    expect(await findByHash(String(key))).toEqual([
      { id: decodeId("issuedKey", String(body.id)), kind: "current" },
    ]);
    for (const path of ["", `/${body.id}`])
      expect(JSON.stringify(await space.call(["GET", path]))).not.toContain(key);
    expect(JSON.stringify(await listEvents(space))).not.toContain(key);
  });

  test("a key has the values that it was created with", async () => {
    const space = await addSpace();
    const values = {
      name: "Acme",
      externalId: "customer 42/ä",
      meta: { plan: "pro", nested: { list: [1, null, true, "x"] } },
      permissions: ["documents.read", "billing.*"],
      limits: [limit, { name: "exports", quota: 5, windowSeconds: 2_592_000, appliesAlways: false }],
      credits: { remaining: 5, refill },
      expiresAt: "2999-01-01T00:00:00.000Z",
      isDisabled: true,
      ipRanges: ["192.0.2.0/24"],
    };
    const { id, uuid } = await addKey(space, values);
    expect((await space.call(["GET", `/${id}`])).body).toMatchObject({ ...values, status: "disabled" });
    expect(await readCounter(uuid)).toEqual({ version: 1, credits: 5 });
  });

  test("fields that are left out are those of the keyspace, and null or an empty list is not", async () => {
    const defaults = {
      defaultLifetimeDays: 10,
      defaultPermissions: ["documents.read"],
      defaultLimits: [limit],
      defaultCredits: { remaining: 7, refill: null },
    };
    const space = await addSpace(defaults);
    const read = async (fields: object) => {
      const { id } = await addKey(space, fields);
      return (await space.call(["GET", `/${id}`])).body;
    };
    const inherited = await read({});
    expect(inherited).toMatchObject({
      permissions: defaults.defaultPermissions,
      limits: defaults.defaultLimits,
      credits: defaults.defaultCredits,
    });
    const lifetimeMs = Date.parse(String(inherited.expiresAt)) - Date.parse(String(inherited.createdAt));
    expect(Math.abs(lifetimeMs - 10 * 86_400_000)).toBeLessThan(10_000);
    const own = { permissions: [], limits: [], credits: null, expiresAt: null };
    expect(await read(own)).toMatchObject(own);
  });

  test("the keys of one consumer share it, and 1,000 are the most", async () => {
    const space = await addSpace();
    await Promise.all(Array.from({ length: 5 }, () => addKey(space, { externalId: "acme" })));
    const { rows } = await sql<{ id: string }>`
      select id from consumers where workspace_id = ${space.team.scope.workspaceId}`.execute(app.owner);
    expect(rows).toHaveLength(1);
    expect(await readCounter(String(rows[0]?.id))).toEqual({ version: 1, credits: null });
    await sql`
      insert into issued_keys (workspace_id, keyspace_id, id, consumer_id, hash, start)
      select workspace_id, keyspace_id, gen_random_uuid(), id, sha256(gen_random_uuid()::text::bytea), 'sk_'
      from consumers, generate_series(1, 995) where id = ${rows[0]?.id}`.execute(app.owner);
    const full = await space.call(["POST", ""], { externalId: "acme" });
    expect([full.status, full.body.error]).toMatchObject([422, { issues: [{ code: "quota_exceeded" }] }]);
    const { id } = await addKey(space, { externalId: "globex" });
    expect((await space.call(["PATCH", `/${id}`], { externalId: "acme" })).status).toBe(422);
    expect((await space.call(["GET", `/${id}`])).body.externalId).toBe("globex");
  });

  test("the quota of the workspace is exact, and also counts a deleted keyspace until it is purged", async () => {
    const space = await addSpace();
    const full = await addSpace({}, space.team);
    await sql`
      insert into issued_keys (workspace_id, keyspace_id, id, hash, start)
      select ${space.team.scope.workspaceId}, ${decodeId("keyspace", full.id)}, gen_random_uuid(),
        sha256(gen_random_uuid()::text::bytea), 'sk_' from generate_series(1, 1000)`.execute(app.owner);
    await send(space.team.owner.secret, ["DELETE", `${space.team.path}/keyspaces/${full.id}`]);
    const replies = await Promise.all(Array.from({ length: 6 }, () => space.call(["POST", ""], {})));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 201, 422, 422, 422]);
    const id = replies.find(({ status }) => status === 201)?.body.id;
    expect((await space.call(["DELETE", `/${id}`])).status).toBe(204);
    await addKey(space);
  });

  test("a workspace can have as many consumers as keys, also without keys", async () => {
    const space = await addSpace();
    const { id } = await addKey(space, { externalId: "acme" });
    await sql`
      insert into consumers (workspace_id, keyspace_id, id, external_id)
      select workspace_id, keyspace_id, gen_random_uuid(), number::text
      from consumers, generate_series(1, 1002) number where workspace_id = ${space.team.scope.workspaceId}`.execute(
      app.owner,
    );
    for (const reply of [
      await space.call(["POST", ""], { externalId: "globex" }),
      await space.call(["PATCH", `/${id}`], { externalId: "globex" }),
    ])
      expect([reply.status, reply.body.error]).toMatchObject([422, { issues: [{ code: "quota_exceeded" }] }]);
    await addKey(space, { externalId: "acme" });
    await addKey(space, { externalId: "7" });
    await addKey(space);
    expect((await space.call(["PATCH", `/${id}`], { externalId: "8" })).status).toBe(200);
  });

  test("a repeated request gets another secret as long as the first one is unused", async () => {
    const space = await addSpace();
    const create = () => space.call(["POST", ""], { name: "Acme" }, { "Idempotency-Key": "one" });
    const [first, second] = [await create(), await create()];
    expect(second.body).toMatchObject({ id: first.body.id, secretStatus: "reissued" });
    expect(second.body.key).not.toBe(first.body.key);
    expect(await findByHash(String(first.body.key))).toMatchObject([{ kind: "revoked" }]);
    expect(await findByHash(String(second.body.key))).toMatchObject([{ kind: "current" }]);
    const uuid = decodeId("issuedKey", String(first.body.id));
    expect(await readCounter(String(uuid))).toMatchObject({ version: 2 });
    expect(await verify(space, String(second.body.key))).toMatchObject({ code: "VALID" });
    const third = await create();
    expect([third.body.secretStatus, third.body.key]).toEqual(["omitted", undefined]);
    expect(await findByHash(String(second.body.key))).toMatchObject([{ kind: "current" }]);
    await space.call(["DELETE", `/${first.body.id}`]);
    expect((await create()).body.secretStatus).toBe("omitted");
    expect((await listEvents(space)).map(({ action }) => action)).toEqual([
      "issued-key.created",
      "issued-key.secret-reissued",
      "issued-key.deleted",
    ]);
  });
});

describe("rejects", () => {
  let space: Space;
  beforeAll(async () => {
    space = await addSpace();
  });
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });
  test.each<readonly [string, object, string]>([
    ["a long name", { name: "x".repeat(101) }, "name"],
    ["a name with an API key", { name: `lk_${"0".repeat(36)}` }, "name"],
    ["an empty external ID", { externalId: "" }, "externalId"],
    ["a long external ID", { externalId: "x".repeat(129) }, "externalId"],
    ["an external ID with spaces around it", { externalId: " x" }, "externalId"],
    ["an external ID of two lines", { externalId: "a\nb" }, "externalId"],
    ["a list as meta", { meta: [] }, "meta"],
    ["null as meta", { meta: null }, "meta"],
    ["meta of more than 4 KiB", { meta: { a: "x".repeat(4_096) } }, "meta"],
    ["meta with a long name", { meta: { ["x".repeat(129)]: 1 } }, `meta.${"x".repeat(129)}`],
    ["meta with 6 levels", { meta: nested(6) as object }, "meta"],
    ["meta with a lone surrogate", { meta: { a: ["\ud800"] } }, "meta.a.0"],
    ["meta with U+0000", { meta: { a: ["\0"] } }, "meta"],
    ["meta with U+0000 in a name", { meta: { a: { "\0": 1 } } }, "meta"],
    ["a wildcard in the middle", { permissions: ["a.*.b"] }, "permissions.0"],
    ["a wildcard without a separator", { permissions: ["a*"] }, "permissions.0"],
    ["an operator of queries as a permission", { permissions: ["AND"] }, "permissions.0"],
    ["two limits with one name", { limits: [limit, limit] }, "limits"],
    ["negative credits", { credits: { remaining: -1 } }, "credits.remaining"],
    [
      "a monthly refill without a day",
      { credits: { remaining: 1, refill: { ...refill, day: null } } },
      "credits.refill.day",
    ],
    ["a member __proto__", { meta: JSON.parse('{"__proto__": {"plan": "pro"}}') }, "meta.__proto__"],
    ["a nested __proto__", { meta: { plan: JSON.parse('{"__proto__": 1}') } }, "meta.plan.__proto__"],
    ["an expiry in the past", { expiresAt: "2020-01-01T00:00:00Z" }, "expiresAt"],
    ["an invalid IP range", { ipRanges: ["192.0.2.0/33"] }, "ipRanges.0"],
    ["no IP range", { ipRanges: [] }, "ipRanges"],
  ])("%s", async (_what, change, path) => {
    const { status, body } = await space.call(["POST", ""], change);
    expect([status, body.error]).toMatchObject([400, { issues: [{ path }] }]);
    expect((await space.call(["GET", ""])).body.data).toEqual([]);
  });

  test("nothing at the bounds", async () => {
    const text = "x".repeat(4_096 - JSON.stringify({ a: "" }).length);
    await addKey(await addSpace(), { meta: { a: text } });
    await addKey(await addSpace(), { meta: nested(5) as object });
    await addKey(await addSpace(), { meta: JSON.parse('{"__proto__x": {"constructor": 1}}') });
  });

  test("unknown keyspaces, keys and keys of other keyspaces", async () => {
    const other = await addSpace({}, space.team);
    const { id } = await addKey(other);
    for (const subpath of ["/ikey_01h455vb4pex5vsknk084sn02q", `/${id}`])
      for (const [method, suffix, body] of [
        ["GET", "", undefined],
        ["PATCH", "", { name: "x" }],
        ["DELETE", "", undefined],
        ["POST", "/rotate", {}],
      ] as const) {
        const reply = await space.call([method, `${subpath}${suffix}`], body);
        expect([method, reply.status, reply.body.error]).toMatchObject([method, 404, { code: "NOT_FOUND" }]);
      }
    const unknown = `${space.team.path}/keyspaces/ks_01h455vb4pex5vsknk084sn02q/keys`;
    for (const method of ["GET", "POST"])
      expect(
        (await send(space.team.owner.secret, [method, unknown], method === "POST" ? {} : undefined)).status,
      ).toBe(404);
    expect((await other.call(["GET", `/${id}`])).body.version).toBe(1);
  });
});

describe("changes", () => {
  test.each<readonly [string, (empty: unknown) => unknown]>([
    ["null", () => null],
    ["an empty value", (empty) => empty],
  ])("%s clears a field, keeps the others, and invalidates remembered facts", async (_what, valueFor) => {
    const space = await addSpace({
      defaultPermissions: ["a"],
      defaultCredits: { remaining: 9, refill: null },
    });
    const { id, uuid } = await addKey(space, {
      name: "Acme",
      externalId: "acme",
      meta: { plan: "pro" },
      permissions: ["b"],
      limits: [limit],
      credits: { remaining: 5, refill },
      expiresAt: "2999-01-01T00:00:00.000Z",
      ipRanges: ["192.0.2.0/24"],
    });
    const cleared = {
      name: "",
      externalId: null,
      meta: {},
      permissions: [],
      limits: [],
      credits: null,
      expiresAt: null,
      ipRanges: null,
    };
    let version = 1;
    for (const [name, value] of Object.entries(cleared)) {
      const before = (await space.call(["GET", `/${id}`])).body;
      version += 1;
      const { status, body } = await space.call(["PATCH", `/${id}`], { [name]: valueFor(value) });
      expect([name, status, body]).toEqual([name, 200, { ...before, [name]: value, version }]);
      expect(await readCounter(uuid)).toMatchObject({ version });
    }
    expect((await listEvents(space)).at(-1)).toMatchObject({ before: { ipRanges: "192.0.2.0/24" } });
    expect(await readCounter(uuid)).toMatchObject({ credits: null });
    const { credits } = (await space.call(["PATCH", `/${id}`], { credits: { remaining: 3 } })).body;
    expect(credits).toEqual({ remaining: 3, refill: null });
    expect(await readCounter(uuid)).toMatchObject({ credits: 3 });
    expect((await space.call(["PATCH", `/${id}`], { isDisabled: null })).status).toBe(400);
  });

  test("a change of other fields keeps the balance, also one that uses changed concurrently", async () => {
    const space = await addSpace();
    const { id, uuid } = await addKey(space, { credits: { remaining: 5 } });
    await sql`update key_counters set credits = 2 where key_id = ${uuid}`.execute(app.owner);
    expect((await space.call(["PATCH", `/${id}`], { name: "x" })).body.credits).toEqual({
      remaining: 2,
      refill: null,
    });
    expect((await listEvents(space)).at(-1)?.after).toEqual({ name: "x", start: expect.any(String) });
  });

  test("the status follows the state, by the database's clock", async () => {
    const space = await addSpace();
    const { id, uuid } = await addKey(space, {
      credits: { remaining: 1, refill: { amount: 3, interval: "daily" } },
    });
    const status = async () => (await space.call(["GET", `/${id}`])).body.status;
    expect(await status()).toBe("active");
    await sql`update key_counters set credits = 0 where key_id = ${uuid}`.execute(app.owner);
    expect(await status()).toBe("out-of-credits");
    // A refill became due since then.
    await sql`
      update key_counters set credits_refilled_at = now() - interval '1 day' where key_id = ${uuid}`.execute(
      app.owner,
    );
    expect((await space.call(["GET", `/${id}`])).body).toMatchObject({
      status: "active",
      credits: { remaining: 3 },
    });
    await sql`update key_counters set credits = 7 where key_id = ${uuid}`.execute(app.owner);
    expect((await space.call(["GET", `/${id}`])).body.credits).toMatchObject({ remaining: 7 });
    await sql`update issued_keys set expires_at = now() where id = ${uuid}`.execute(app.owner);
    expect(await status()).toBe("expired");
    await space.call(["PATCH", `/${id}`], { isDisabled: true });
    expect(await status()).toBe("disabled");
  });

  test("an old version is rejected, and uses change the ETag only if they spend credits", async () => {
    const space = await addSpace();
    const { id, uuid } = await addKey(space, { credits: { remaining: 5 } });
    const { etag } = await space.call(["GET", `/${id}`]);
    await sql`
      update key_counters set use_count = 3, last_used_at = now() where key_id = ${uuid}`.execute(app.owner);
    const used = await space.call(["GET", `/${id}`]);
    expect(used.body).toMatchObject({ usageCount: 3, lastUsedAt: expect.any(String) });
    expect(used.etag).toBe(etag);
    const poll = () => space.call(["GET", `/${id}`], undefined, { "If-None-Match": etag });
    expect((await poll()).status).toBe(304);
    await sql`update key_counters set credits = 2 where key_id = ${uuid}`.execute(app.owner);
    const spent = await poll();
    expect(spent).toMatchObject({ status: 200, body: { credits: { remaining: 2 }, version: 1 } });
    const added = await space.call(["POST", `/${id}/credits`], { add: 7 });
    expect(added).toMatchObject({ status: 200, body: { credits: { remaining: 9 }, version: 1 } });
    expect(new Set([etag, spent.etag, added.etag]).size).toBe(3);
    expect((await space.call(["GET", `/${id}`])).etag).toBe(added.etag);
    expect((await space.call(["PATCH", `/${id}`], { name: "x" }, { "If-Match": etag })).status).toBe(200);
    for (const [method, suffix, body] of [
      ["PATCH", "", { name: "y" }],
      ["POST", "/rotate", {}],
      ["DELETE", "", undefined],
    ] as const)
      expect((await space.call([method, `/${id}${suffix}`], body, { "If-Match": etag })).status).toBe(412);
    const empty = await space.call(["PATCH", `/${id}`], {});
    expect([empty.status, empty.body.error]).toMatchObject([400, { issues: [{ code: "no_changes" }] }]);
  });

  test("every change is in the audit log, without the secret, its hash or meta", async () => {
    const space = await addSpace();
    const { id } = await addKey(space, { name: "Acme", externalId: "acme", meta: { secret: "canary" } });
    await space.call(["PATCH", `/${id}`], {
      permissions: Array.from({ length: 12 }, (_, number) => `p${number}`),
      limits: [limit],
      credits: { remaining: 5, refill },
      meta: { secret: "canary 2" },
    });
    await space.call(["PATCH", `/${id}`], { isDisabled: true });
    await space.call(["PATCH", `/${id}`], {
      isDisabled: false,
      externalId: "globex",
      ipRanges: ["192.0.2.1"],
    });
    await space.call(["POST", `/${id}/rotate`], { overlapSeconds: 60 });
    await space.call(["DELETE", `/${id}`]);
    const start = expect.stringMatching(/^sk_live_.{6}$/);
    const key = { name: "Acme", start };
    const events = await listEvents(space);
    expect(events).toEqual([
      {
        action: "issued-key.created",
        before: null,
        after: {
          ...key,
          externalId: "acme",
          permissions: null,
          limits: null,
          credits: null,
          expiresAt: null,
          ipRanges: null,
          isDisabled: false,
        },
      },
      {
        action: "issued-key.changed",
        before: { permissions: null, limits: null, credits: null },
        after: {
          ...key,
          permissions: "p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, 2 more",
          limits: "requests 100/60s",
          credits: "5, refilled to 10 monthly on day 1",
          isMetaChanged: true,
        },
      },
      { action: "issued-key.disabled", before: null, after: key },
      {
        action: "issued-key.changed",
        before: { externalId: "acme", ipRanges: null },
        after: { ...key, externalId: "globex", ipRanges: "192.0.2.1" },
      },
      { action: "issued-key.enabled", before: null, after: key },
      { action: "issued-key.rotated", before: null, after: { ...key, overlapSeconds: 60 } },
      { action: "issued-key.deleted", before: { ...key, externalId: "globex" }, after: null },
    ]);
    expect(JSON.stringify(events)).not.toContain("canary");
  });

  test("the event of a new key says whether it was issued as disabled", async () => {
    const space = await addSpace();
    await addKey(space, { name: "Acme", isDisabled: true });
    expect(await listEvents(space)).toMatchObject([
      { action: "issued-key.created", after: { name: "Acme", isDisabled: true } },
    ]);
  });
});

describe("rotation", () => {
  test("a key gets a new secret with the current prefix, and the old one stays valid for the overlap", async () => {
    const space = await addSpace();
    const { id, secret, uuid } = await addKey(space, { name: "Acme" });
    await send(space.team.owner.secret, ["PATCH", `${space.team.path}/keyspaces/${space.id}`], {
      prefix: "sk_v2",
    });
    const { status, body } = await space.call(["POST", `/${id}/rotate`], { overlapSeconds: 3_600 });
    expect([status, body]).toMatchObject([
      200,
      { id, key: expect.stringMatching(/^sk_v2_.{36}$/), name: "Acme", version: 2, secretStatus: "issued" },
    ]);
    const [former] = body.formerSecrets as { start: string; retiredAt: string; goodUntil: string }[];
    expect(former?.start).toBe(secret.slice(0, 14));
    expect(Date.parse(former?.goodUntil ?? "") - Date.parse(former?.retiredAt ?? "")).toBe(3_600_000);
    expect(await findByHash(secret)).toEqual([{ id: uuid, kind: "valid" }]);
    expect(await findByHash(String(body.key))).toEqual([{ id: uuid, kind: "current" }]);
    expect(await readCounter(uuid)).toMatchObject({ version: 2 });
  });

  test("without an overlap, the old secret is revoked, and of six old secrets, five are valid", async () => {
    const space = await addSpace();
    const { id, secret } = await addKey(space);
    const secrets = [secret];
    for (let count = 0; count < 6; count += 1) {
      const { body } = await space.call(["POST", `/${id}/rotate`], { overlapSeconds: 60 });
      secrets.push(String(body.key));
    }
    const kinds = await Promise.all(secrets.map(async (each) => (await findByHash(each))[0]));
    const valid = expect.objectContaining({ kind: "valid" });
    expect(kinds).toEqual([
      expect.objectContaining({ kind: "revoked" }),
      ...Array.from({ length: 5 }, () => valid),
      expect.objectContaining({ kind: "current" }),
    ]);
    await space.call(["POST", `/${id}/rotate`], { overlapSeconds: 0 });
    expect(await findByHash(secrets.at(-1) ?? "")).toMatchObject([{ kind: "revoked" }]);
    expect((await space.call(["GET", `/${id}`])).body.formerSecrets).toHaveLength(5);
  });

  test("at most 20 old secrets are stored", async () => {
    const space = await addSpace();
    const { id, uuid } = await addKey(space);
    for (let count = 0; count < 23; count += 1)
      await space.call(["POST", `/${id}/rotate`], { overlapSeconds: 0 });
    const { rows } = await sql`select from retired_issued_secrets where key_id = ${uuid}`.execute(app.owner);
    expect(rows).toHaveLength(20);
  });

  test("a repeated rotation replaces a secret that was never used", async () => {
    const space = await addSpace();
    const { id } = await addKey(space);
    const rotate = () => space.call(["POST", `/${id}/rotate`], {}, { "Idempotency-Key": "one" });
    const [first, second] = [await rotate(), await rotate()];
    expect(second.body.secretStatus).toBe("reissued");
    expect(await findByHash(String(first.body.key))).toMatchObject([{ kind: "revoked" }]);
    expect(await findByHash(String(second.body.key))).toMatchObject([{ kind: "current" }]);
  });
});

test("a deleted key is deleted with its counter and old secrets, and a second deletion gets 404", async () => {
  const space = await addSpace();
  const { id, uuid, secret } = await addKey(space, { externalId: "acme" });
  await space.call(["POST", `/${id}/rotate`], {});
  const replies = await Promise.all([space.call(["DELETE", `/${id}`]), space.call(["DELETE", `/${id}`])]);
  expect(replies.map(({ status }) => status).sort()).toEqual([204, 404]);
  expect(await readCounter(uuid)).toBeUndefined();
  expect(await findByHash(secret)).toEqual([]);
  const { rows } =
    await sql`select from consumers where external_id = 'acme' and workspace_id = ${space.team.scope.workspaceId}`.execute(
      app.owner,
    );
  expect(rows).toHaveLength(1);
});

test("a deletion and a change at the same time don't fail", async () => {
  const space = await addSpace();
  for (let round = 0; round < 5; round += 1) {
    const { id } = await addKey(space);
    const [changed, deleted] = await Promise.all([
      space.call(["PATCH", `/${id}`], { name: "x" }),
      space.call(["DELETE", `/${id}`]),
    ]);
    expect([200, 404]).toContain(changed.status);
    expect(deleted.status).toBe(204);
  }
});

test("the list is filtered, sorted and paged", async () => {
  const space = await addSpace();
  const alpha = await addKey(space, { name: "Beta 100%", externalId: "acme", permissions: ["a", "b.*"] });
  const beta = await addKey(space, { name: "Alpha", externalId: "acme", permissions: ["a"] });
  const gamma = await addKey(space, { name: "beta two", credits: { remaining: 0 } });
  const delta = await addKey(space, { name: "Delta", isDisabled: true, credits: { remaining: 0 } });
  const expired = await addKey(space, { name: "Expired" });
  await sql`update issued_keys set expires_at = now() where id = ${expired.uuid}`.execute(app.owner);
  const other = await addSpace({}, space.team);
  await addKey(other, { name: "Alpha", externalId: "acme" });
  const list = async (query: string) => {
    const { status, body } = await space.call(["GET", `?${query}`]);
    expect([query, status]).toEqual([query, 200]);
    return (body.data ?? []).map(({ id }) => id);
  };
  expect(await list("")).toEqual([alpha.id, beta.id, gamma.id, delta.id, expired.id]);
  expect(await list("sort=-createdAt")).toEqual([expired.id, delta.id, gamma.id, beta.id, alpha.id]);
  expect(await list("name=BETA")).toEqual([alpha.id, gamma.id]);
  expect(await list("name=eta")).toEqual([]);
  expect(await list(`name=${encodeURIComponent("beta 100%")}`)).toEqual([alpha.id]);
  expect(await list(`name=${encodeURIComponent("%")}`)).toEqual([]);
  expect(await list("name=b_ta")).toEqual([]);
  expect(await list("externalId=acme")).toEqual([alpha.id, beta.id]);
  expect(await list("externalId=nobody")).toEqual([]);
  expect(await list("permission=a")).toEqual([alpha.id, beta.id]);
  expect(await list("permission=b.*")).toEqual([alpha.id]);
  expect(await list("permission=b.c")).toEqual([]);
  expect(await list("status=active")).toEqual([alpha.id, beta.id]);
  expect(await list("status=disabled")).toEqual([delta.id]);
  expect(await list("status=expired")).toEqual([expired.id]);
  expect(await list("status=out-of-credits")).toEqual([gamma.id]);
  const setExpiry = ({ uuid }: { readonly uuid: string }, days: number) =>
    sql`update issued_keys set expires_at = now() + ${days} * interval '1 day' where id = ${uuid}`.execute(
      app.owner,
    );
  for (const [key, days] of [
    [alpha, 31],
    [beta, 29],
    [gamma, 1],
    [delta, 1],
  ] as const)
    await setExpiry(key, days);
  expect(await list("status=expiring")).toEqual([beta.id, gamma.id]);
  expect(await list("status=expiring&sort=expiresAt")).toEqual([gamma.id, beta.id]);
  expect(await list(`start=${beta.secret.slice(0, 12)}`)).toEqual([beta.id]);
  // The link to the next page contains trimmed parameters.
  expect(await list(`start=%20${beta.secret.slice(0, 12)}%20`)).toEqual([beta.id]);
  expect(await list("start=sk_")).toHaveLength(5);
  const names = ["Alpha", "Beta 100%", "beta two", "Delta", "Expired"];
  const pages: unknown[] = [];
  for (let cursor: unknown = ""; cursor !== null; ) {
    const { body } = await space.call(["GET", `?sort=name&limit=2${cursor ? `&cursor=${cursor}` : ""}`]);
    pages.push(...(body.data ?? []).map(({ name }) => name));
    cursor = body.nextCursor;
  }
  expect(pages).toEqual(names);
  for (const query of ["cursor=x", "start=%0A", "start=%20", "permission=a%2Fb", "status=unknown"])
    expect((await space.call(["GET", `?${query}`])).status).toBe(400);
});

test("a key that is restricted to reading or verifying keys can't change them", async () => {
  const space = await addSpace();
  const { id } = await addKey(space);
  const path = `${space.team.path}/keyspaces/${space.id}/keys`;
  for (const permission of ["keys:read", "keys:verify", "keyspaces:manage"] as const) {
    const { key } = await space.team.owner.client.apiKeys.create.mutate({
      name: permission,
      settings: { permissions: [permission] },
    });
    expect((await send(key, ["GET", `${path}/${id}`])).status).toBe(permission === "keys:read" ? 200 : 403);
    for (const [method, subpath, body] of [
      ["POST", "", {}],
      ["PATCH", `/${id}`, { name: "x" }],
      ["POST", `/${id}/rotate`, {}],
      ["DELETE", `/${id}`, undefined],
    ] as const)
      expect((await send(key, [method, `${path}${subpath}`], body)).status).toBe(403);
  }
});
