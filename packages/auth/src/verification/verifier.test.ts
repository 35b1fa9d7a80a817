import { createHash, randomBytes } from "node:crypto";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { createApiKey, digestKey } from "../key-format.ts";
import type { RateLimit } from "./meters.ts";
import { type PermissionQuery, parsePermissionQuery } from "./permission-query.ts";
import {
  codesOf,
  type TestIssuedKey,
  type TestKeyspace,
  verificationOf,
  verifierKit,
} from "./verifier.test-kit.ts";
import type { Verifier } from "./verifier.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const kit = verifierKit(() => database);
const {
  addConsumer,
  addKey,
  addKeyspace,
  addKeyspaceTo,
  bumpOwner,
  execute,
  hold,
  issueKey,
  openNode,
  readCounter,
} = kit;

const hourly = (quota: number, name = "requests", appliesAlways = true): RateLimit => ({
  name,
  quota,
  windowSeconds: 3_600,
  appliesAlways,
});

/** Options for tests of exact counts: no request reaches its deadline, even on a busy machine. */
const patient = { deadlineMs: 60_000, maxWaiting: 10_000 };

/** Verifies one key with one request, and returns its code. */
async function verify(
  node: Verifier,
  { caller }: Pick<TestKeyspace, "caller">,
  key: Pick<TestIssuedKey, "secret">,
  change: Parameters<typeof verificationOf>[1] = {},
): Promise<string> {
  const [code = "none"] = codesOf(
    await node.verify(caller.secret, {
      address: undefined,
      name: undefined,
      verifications: [verificationOf(key, change)],
    }),
  );
  return code;
}

const count = (codes: readonly string[], code: string): number => codes.filter((one) => one === code).length;

describe("one request", () => {
  test("counts the caller's use and what each key spends", async () => {
    const space = await addKeyspace();
    const [first, second] = [await issueKey(space, { credits: 5 }), await issueKey(space)];
    const verifications = [verificationOf(first, { cost: 2 }), verificationOf(second), verificationOf(first)];
    const answer = await openNode().verify(space.caller.secret, {
      address: undefined,
      name: undefined,
      verifications,
    });
    expect(answer.verdict).toMatchObject({ kind: "admitted", principal: { keyId: space.caller.id } });
    expect(answer.outcome).toMatchObject({
      kind: "verified",
      results: [
        { code: "VALID", remainingCredits: 3, key: { keyId: first.id, keyspaceId: space.keyspaceId } },
        { code: "VALID", remainingCredits: null, key: { keyId: second.id } },
        { code: "VALID", remainingCredits: 2 },
      ],
    });
    expect(await readCounter(first.id)).toMatchObject({ uses: 2, credits: 2 });
    expect(await readCounter(second.id)).toMatchObject({ uses: 1, credits: null });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 1 });
  });

  test("of a caller that is rejected or rate limited spends nothing", async () => {
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 5 });
    const node = openNode();
    await execute(sql`
      update api_keys set limit_quota = 1, limit_window_seconds = 3600 where id = ${space.caller.id}`);
    expect(await verify(node, space, key)).toBe("VALID");
    expect(await verify(node, space, key)).toBe("limited");
    await execute(sql`update users set disabled_at = now() where id = ${space.caller.userId}`);
    await execute(sql`update key_counters set version = version + 1 where key_id = ${space.caller.id}`);
    expect(await verify(node, space, key)).toBe("rejected");
    expect(await readCounter(key.id)).toMatchObject({ uses: 1, credits: 4 });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 1 });
  });

  test("with a malformed key is rejected without a query, and an unknown one after a lookup", async () => {
    const failing = openNode({ connection: { connectionString: "postgres://nobody@127.0.0.1:1/none" } });
    const request = { address: undefined, name: undefined, verifications: [] };
    expect((await failing.verify("lk_typo", request)).verdict).toMatchObject({ reason: "malformed" });
    const { secret } = await addKey();
    expect((await failing.verify(secret, request)).verdict).toMatchObject({ kind: "unavailable" });
    const space = await addKeyspace();
    await execute(sql`delete from api_keys where id = ${space.caller.id}`);
    expect((await openNode().verify(space.caller.secret, request)).verdict).toMatchObject({
      kind: "rejected",
      reason: "unknown",
    });
  });

  test("with an expired key is rejected, before and after the node remembers it", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space);
    await execute(sql`
      update api_keys set expires_at = clock_timestamp() + interval '300 ms' where id = ${space.caller.id}`);
    expect(await verify(node, space, key)).toBe("VALID");
    await expect.poll(() => verify(node, space, key)).toBe("rejected");
    expect(await verify(openNode(), space, key)).toBe("rejected");
  });

  test("is recognized by its key, without counting a use", async () => {
    const node = openNode();
    const space = await addKeyspace();
    expect([
      await node.recognizes(space.caller.secret),
      await node.recognizes(space.caller.secret),
      await node.recognizes(createApiKey().secret),
      await node.recognizes("lk_typo"),
    ]).toEqual([true, true, false, false]);
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 0 });
  });

  test("waits only if its caller has fewer than 10,000 verifications pending", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    const key = await issueKey(space);
    const verifications = Array.from({ length: 100 }, () => verificationOf(key));
    const request = { address: undefined, name: undefined, verifications };
    const answers = await Promise.all(
      Array.from({ length: 110 }, () => node.verify(space.caller.secret, request)),
    );
    expect(answers.filter(({ verdict }) => verdict.kind === "unavailable")).toHaveLength(10);
    expect(await readCounter(key.id)).toMatchObject({ uses: 10_000 });
    expect(await verify(node, space, key)).toBe("VALID");
  });

  test("marks the first use of the caller's new secret and of the key's", async () => {
    const space = await addKeyspace();
    const key = await issueKey(space);
    const ids = sql.join([space.caller.id, key.id]);
    await execute(sql`update key_counters set has_unused_secret = true where key_id in (${ids})`);
    const node = openNode();
    for (const code of [await verify(node, space, key), await verify(node, space, key)])
      expect(code).toBe("VALID");
    expect(await readCounter(key.id)).toMatchObject({ has_unused_secret: null, uses: 2 });
    expect(await readCounter(space.caller.id)).toMatchObject({ has_unused_secret: null, uses: 2 });
  });
});

describe("a key that the caller may not verify is not found", () => {
  test("without the permission, in another workspace, or elsewhere than the caller says", async () => {
    const node = openNode();
    const [space, other, viewed] = [
      await addKeyspace(),
      await addKeyspace(),
      await addKeyspace({ role: "viewer" }),
    ];
    const key = await issueKey(space, { credits: 1 });
    const answers = [
      await verify(node, other, key),
      await verify(node, viewed, await issueKey(viewed)),
      await verify(node, space, { secret: `acme_${randomBytes(24).toString("hex")}` }),
      await verify(node, space, key, { workspaceId: other.workspaceId }),
      await verify(node, space, key, { keyspaceId: await addKeyspaceTo(space.workspaceId) }),
    ];
    expect(answers).toEqual(Array.from({ length: 5 }, () => "NOT_FOUND"));
    expect(await readCounter(key.id)).toMatchObject({ uses: 0, credits: 1 });
    expect(await verify(node, space, key, { workspaceId: space.workspaceId })).toBe("VALID");
  });

  test("a key that two workspaces imported is verified in the caller's", async () => {
    const node = openNode();
    const [first, second] = [await addKeyspace(), await addKeyspace()];
    const secret = randomBytes(24).toString("hex");
    const [ofFirst, ofSecond] = [await issueKey(first, { secret }), await issueKey(second, { secret })];
    for (const space of [second, first, second]) expect(await verify(node, space, { secret })).toBe("VALID");
    expect([await readCounter(ofFirst.id), await readCounter(ofSecond.id)]).toMatchObject([
      { uses: 1 },
      { uses: 2 },
    ]);
  });

  test("the oldest of more than 16 keys with the same secret is found, of those that the caller may verify", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const secret = randomBytes(24).toString("hex");
    const oldest = await issueKey(space, { secret });
    for (let index = 0; index < 20; index += 1) await issueKey(await addKeyspace(), { secret });
    expect(await verify(node, space, { secret })).toBe("VALID");
    expect(await readCounter(oldest.id)).toMatchObject({ uses: 1 });
  });

  test("a key is found by the request after the one that did not find it", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const secret = randomBytes(24).toString("hex");
    expect(await verify(node, space, { secret })).toBe("NOT_FOUND");
    await issueKey(space, { secret });
    expect(await verify(node, space, { secret })).toBe("VALID");
    const elsewhere = await addKeyspaceTo(space.workspaceId);
    expect(await verify(node, space, { secret }, { keyspaceId: elsewhere })).toBe("NOT_FOUND");
  });
});

describe("an API key", () => {
  test("is verified in the workspace that the request names, and nowhere else", async () => {
    const node = openNode();
    const [space, other] = [await addKeyspace({ role: "admin" }), await addKeyspace()];
    const inSpace = { workspaceId: space.workspaceId };
    const permissions = parsePermissionQuery("members:manage AND api-keys:read") as PermissionQuery;
    expect(await verify(node, space, space.caller, { ...inSpace, permissions })).toBe("VALID");
    expect([
      await verify(node, space, space.caller),
      await verify(node, space, other.caller, inSpace),
      await verify(node, other, space.caller, inSpace),
      await verify(node, space, space.caller, { ...inSpace, keyspaceId: space.keyspaceId }),
    ]).toEqual(["NOT_FOUND", "NOT_FOUND", "NOT_FOUND", "NOT_FOUND"]);
    // Four requests of its own, and one verification.
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 5 });
  });

  test("has the permissions of its owner and its restrictions, IP ranges and rate limit", async () => {
    const node = openNode();
    const space = await addKeyspace({ role: "admin" });
    const target = await addKey(space.caller.userId);
    const verifyTarget = (change: Parameters<typeof verificationOf>[1] = {}) =>
      verify(node, space, target, { workspaceId: space.workspaceId, ...change });
    await execute(sql`
      update api_keys set permissions = '{members:read,workspace:delete}', ip_ranges = '{192.0.2.0/24}', limit_quota = 2,
        limit_window_seconds = 3600
      where id = ${target.id}`);
    const clientAddress = "192.0.2.1";
    const query = (text: string) => parsePermissionQuery(text) as PermissionQuery;
    expect([
      await verifyTarget({ clientAddress, permissions: query("members:read") }),
      await verifyTarget({ clientAddress, permissions: query("members:manage") }),
      await verifyTarget({ clientAddress, permissions: query("workspace:delete") }),
      await verifyTarget(),
      await verifyTarget({ clientAddress, cost: 2 }),
      await verifyTarget({ clientAddress }),
      await verifyTarget({ clientAddress }),
    ]).toEqual([
      "VALID",
      "INSUFFICIENT_PERMISSIONS",
      "INSUFFICIENT_PERMISSIONS",
      "FORBIDDEN",
      "RATE_LIMITED",
      "VALID",
      "RATE_LIMITED",
    ]);
    expect(await readCounter(target.id)).toMatchObject({ uses: 2 });
  });

  test("that is restricted to permissions needs no IP address of the consumer", async () => {
    const node = openNode();
    const space = await addKeyspace({ role: "admin" });
    const target = await addKey(space.caller.userId);
    await execute(sql`update api_keys set permissions = '{members:read}' where id = ${target.id}`);
    expect(await verify(node, space, target, { workspaceId: space.workspaceId })).toBe("VALID");
  });

  test("that the policy of the workspace rejects is disabled", async () => {
    const node = openNode();
    const space = await addKeyspace({ role: "admin" });
    const target = { caller: await addKey() };
    await execute(sql`
      insert into members (workspace_id, user_id, role) values (${space.workspaceId}, ${target.caller.userId}, 'viewer')`);
    await execute(sql`
      insert into api_key_policies (workspace_id, max_idle_days) values (${space.workspaceId}, 30)`);
    for (const id of [target.caller.id])
      await execute(sql`update api_keys set created_at = now() - interval '31 days' where id = ${id}`);
    await execute(
      sql`update members set created_at = now() - interval '31 days' where user_id = ${target.caller.userId}`,
    );
    expect(await verify(node, space, target.caller, { workspaceId: space.workspaceId })).toBe("DISABLED");
  });

  test("follows every change on every node", async () => {
    const nodes = [openNode(), openNode()];
    const space = await addKeyspace();
    const owner = { caller: await addKey() };
    await execute(sql`
      insert into members (workspace_id, user_id, role) values (${space.workspaceId}, ${owner.caller.userId}, 'viewer')`);
    const expectCode = async (code: string) => {
      for (const node of nodes)
        expect(await verify(node, space, owner.caller, { workspaceId: space.workspaceId })).toBe(code);
    };
    await expectCode("VALID");
    const changes = [
      [sql`update users set disabled_at = now() where id = ${owner.caller.userId}`, "DISABLED"],
      [sql`update users set disabled_at = null where id = ${owner.caller.userId}`, "VALID"],
      [sql`update api_keys set expires_at = now() where id = ${owner.caller.id}`, "EXPIRED"],
      [
        sql`update api_keys set expires_at = null, disabled_at = now() where id = ${owner.caller.id}`,
        "DISABLED",
      ],
      [sql`update api_keys set disabled_at = null where id = ${owner.caller.id}`, "VALID"],
      [sql`delete from members where user_id = ${owner.caller.userId}`, "NOT_FOUND"],
    ] as const;
    for (const [change, code] of changes) {
      await execute(change);
      await bumpOwner(owner.caller.userId);
      await expectCode(code);
    }
  });
});

describe("a change applies to the next request on every node", () => {
  const changes: readonly [
    name: string,
    change: (space: TestKeyspace, key: TestIssuedKey) => Promise<unknown>,
    code: string,
  ][] = [
    [
      "a key is disabled",
      async (_, { id }) => {
        await execute(sql`update issued_keys set disabled_at = now() where id = ${id}`);
        await execute(sql`update key_counters set version = version + 1 where key_id = ${id}`);
      },
      "DISABLED",
    ],
    ["a key is deleted", (_, { id }) => execute(sql`delete from issued_keys where id = ${id}`), "NOT_FOUND"],
    [
      "a keyspace is disabled",
      async ({ keyspaceId }) => {
        await execute(sql`update keyspaces set disabled_at = now() where id = ${keyspaceId}`);
        await bumpOwner(keyspaceId);
      },
      "DISABLED",
    ],
    [
      "a keyspace is deleted",
      ({ keyspaceId }) => execute(sql`delete from keyspaces where id = ${keyspaceId}`),
      "NOT_FOUND",
    ],
    [
      "a workspace is deleted",
      async ({ workspaceId }) => {
        await execute(sql`delete from keyspaces where workspace_id = ${workspaceId}`);
        await execute(sql`delete from workspaces where id = ${workspaceId}`);
      },
      "NOT_FOUND",
    ],
    [
      "the caller leaves the workspace",
      async ({ workspaceId, caller: { id } }) => {
        await execute(sql`delete from members where workspace_id = ${workspaceId}`);
        await execute(sql`update key_counters set version = version + 1 where key_id = ${id}`);
      },
      "NOT_FOUND",
    ],
    [
      "a key expires",
      async (_, { id }) => {
        await execute(sql`update issued_keys set expires_at = now() where id = ${id}`);
        await execute(sql`update key_counters set version = version + 1 where key_id = ${id}`);
      },
      "EXPIRED",
    ],
  ];

  test.each(changes)("%s", async (_, change, code) => {
    const nodes = [openNode(), openNode()];
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 100 });
    for (const node of nodes) expect(await verify(node, space, key)).toBe("VALID");
    await change(space, key);
    for (const node of nodes) expect(await verify(node, space, key)).toBe(code);
  });

  test("an old secret is revoked before its overlap ends", async () => {
    const nodes = [openNode(), openNode()];
    const space = await addKeyspace();
    const { id } = await issueKey(space);
    const old = { secret: `acme_${randomBytes(24).toString("hex")}` };
    await execute(sql`
      insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
      values (${Buffer.from(digestKey(old.secret), "base64")}, ${space.workspaceId}, ${space.keyspaceId}, ${id}, 'acme_',
        now() + interval '1 hour')`);
    for (const node of nodes) expect(await verify(node, space, old)).toBe("VALID");
    await execute(sql`update retired_issued_secrets set good_until = '-infinity' where key_id = ${id}`);
    await execute(sql`update key_counters set version = version + 1 where key_id = ${id}`);
    for (const node of nodes) expect(await verify(node, space, old)).toBe("NOT_FOUND");
  });

  test("the caller's user is disabled", async () => {
    const nodes = [openNode(), openNode()];
    const space = await addKeyspace();
    const key = await issueKey(space);
    for (const node of nodes) expect(await verify(node, space, key)).toBe("VALID");
    await execute(sql`update users set disabled_at = now() where id = ${space.caller.userId}`);
    await bumpOwner(space.caller.userId);
    for (const node of nodes) expect(await verify(node, space, key)).toBe("rejected");
  });

  test("a consumer gets a limit", async () => {
    const nodes = [openNode(), openNode()];
    const space = await addKeyspace();
    const consumerId = await addConsumer(space, []);
    const key = await issueKey(space, { consumerId });
    for (const node of nodes) expect(await verify(node, space, key)).toBe("VALID");
    await execute(sql`update consumers set limits = ${JSON.stringify([hourly(1)])} where id = ${consumerId}`);
    await bumpOwner(consumerId);
    const codes = [];
    for (const node of nodes) codes.push(await verify(node, space, key));
    expect(codes).toEqual(["VALID", "RATE_LIMITED"]);
  });

  test("a key expires by the database's clock, without any change", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space);
    await execute(
      sql`update issued_keys set expires_at = clock_timestamp() + interval '300 ms' where id = ${key.id}`,
    );
    expect(await verify(node, space, key)).toBe("VALID");
    await expect.poll(() => verify(node, space, key)).toBe("EXPIRED");
  });
});

describe("exact", () => {
  test("credits of 1,000 allow exactly 1,000 of 5,000 concurrent requests on two nodes", async () => {
    const nodes = [openNode(patient), openNode(patient)];
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 1_000 });
    const codes = await Promise.all(
      Array.from({ length: 5_000 }, (_, index) => verify(nodes[index % 2] as Verifier, space, key)),
    );
    expect([count(codes, "VALID"), count(codes, "USAGE_EXCEEDED")]).toEqual([1_000, 4_000]);
    expect(await readCounter(key.id)).toMatchObject({ uses: 1_000, credits: 0 });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 5_000 });
  });

  test("windows that have ended are not stored", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    const key = await issueKey(space, { limits: [hourly(5)] });
    await execute(sql`
      update key_counters set windows = ${JSON.stringify({ removed: [1_000, 5] })} where key_id = ${key.id}`);
    expect(await verify(node, space, key)).toBe("VALID");
    expect(Object.keys((await readCounter(key.id))?.windows ?? {})).toEqual(["requests"]);
  });

  test("a consumer's limit is shared by 20 keys, on two nodes", async () => {
    const nodes = [openNode(patient), openNode(patient)];
    const space = await addKeyspace();
    const consumerId = await addConsumer(space, [hourly(50)]);
    const keys = await Promise.all(
      Array.from({ length: 20 }, () => issueKey(space, { consumerId, credits: 100 })),
    );
    const codes = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        verify(nodes[index % 2] as Verifier, space, keys[index % 20] as TestIssuedKey),
      ),
    );
    expect([count(codes, "VALID"), count(codes, "RATE_LIMITED")]).toEqual([50, 950]);
    const counters = await Promise.all(keys.map(({ id }) => readCounter(id)));
    expect(counters.reduce((sum, counter) => sum + 100 - (counter?.credits ?? 0), 0)).toBe(50);
    expect((await readCounter(consumerId))?.windows?.requests?.[1]).toBe(50);
  });

  test("mixed costs of two limits in one batch never exceed either", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    const key = await issueKey(space, { limits: [hourly(100, "tokens"), hourly(20, "exports", false)] });
    const codes = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        verify(node, space, key, {
          cost: 1 + (index % 7),
          limits: index % 3 === 0 ? [{ name: "exports", cost: 3 }] : [],
        }),
      ),
    );
    const windows = (await readCounter(key.id))?.windows;
    expect(windows?.tokens?.[1]).toBe(100);
    expect(windows?.exports?.[1]).toBeLessThanOrEqual(20);
    expect(windows?.exports?.[1]).toBe(
      3 * codes.filter((code, index) => code === "VALID" && index % 3 === 0).length,
    );
  });

  test("the window of the caller's own limit is the one that other requests use", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    await execute(sql`
      update api_keys set limit_quota = 5, limit_window_seconds = 3600 where id = ${space.caller.id}`);
    await execute(sql`
      update key_counters set window_ends_at = now() + interval '1 minute', window_spent = 4
      where key_id = ${space.caller.id}`);
    const key = await issueKey(space);
    expect([await verify(node, space, key), await verify(node, space, key)]).toEqual(["VALID", "limited"]);
  });
});

describe("a request with a name", () => {
  const named = (key: string, body = "body") => ({
    method: "POST",
    path: "/open/keys/verify",
    key,
    bodyHash: createHash("sha256").update(body).digest(),
  });

  test("spends once, however often it is sent, and has the current result", async () => {
    const nodes = [openNode(patient), openNode(patient)];
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 1 });
    const send = async (node: Verifier, name = named("retry")) =>
      codesOf(
        await node.verify(space.caller.secret, {
          address: undefined,
          name,
          verifications: [verificationOf(key)],
        }),
      )[0];
    for (const node of nodes) expect(await send(node)).toBe("VALID");
    expect(await readCounter(key.id)).toMatchObject({ uses: 1, credits: 0 });
    expect(await send(nodes[0] as Verifier, named("another"))).toBe("USAGE_EXCEEDED");
    expect(await send(nodes[0] as Verifier, named("retry", "another body"))).toBe("name-reused");
    await execute(sql`update issued_keys set disabled_at = now() where id = ${key.id}`);
    await execute(sql`update key_counters set version = version + 1 where key_id = ${key.id}`);
    for (const node of nodes) expect(await send(node)).toBe("DISABLED");
    // A rejected request spent nothing, so that its retry can.
    await execute(sql`update issued_keys set disabled_at = null where id = ${key.id}`);
    await execute(sql`update key_counters set version = version + 1, credits = 1 where key_id = ${key.id}`);
    expect([
      await send(nodes[1] as Verifier, named("another")),
      await send(nodes[1] as Verifier, named("another")),
    ]).toEqual(["VALID", "VALID"]);
    expect(await readCounter(key.id)).toMatchObject({ uses: 2, credits: 0 });
  });

  test("spends once if it is sent 50 times at the same time to two nodes", async () => {
    const nodes = [openNode(patient), openNode(patient)];
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 100 });
    const request = { address: undefined, name: named("concurrent"), verifications: [verificationOf(key)] };
    const codes = await Promise.all(
      Array.from(
        { length: 50 },
        async (_, index) =>
          codesOf(await (nodes[index % 2] as Verifier).verify(space.caller.secret, request))[0],
      ),
    );
    expect(count(codes as string[], "VALID")).toBe(50);
    expect(await readCounter(key.id)).toMatchObject({ uses: 1, credits: 99 });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 50 });
  });

  test("is not known after 24 hours", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 9 });
    const send = async (body: string) =>
      codesOf(
        await node.verify(space.caller.secret, {
          address: undefined,
          name: named("old", body),
          verifications: [verificationOf(key)],
        }),
      )[0];
    expect(await send("first")).toBe("VALID");
    await execute(sql`
      update idempotency_records set created_at = now() - interval '25 hours' where user_id = ${space.caller.userId}`);
    expect([await send("second"), await send("second"), await send("first")]).toEqual([
      "VALID",
      "VALID",
      "name-reused",
    ]);
    expect(await readCounter(key.id)).toMatchObject({ credits: 7 });
  });

  test("two users can use the same name", async () => {
    const node = openNode();
    for (let index = 0; index < 2; index += 1) {
      const space = await addKeyspace();
      const key = await issueKey(space, { credits: 5 });
      const request = { address: undefined, name: named("same"), verifications: [verificationOf(key)] };
      await node.verify(space.caller.secret, request);
      expect(await readCounter(key.id)).toMatchObject({ credits: 4 });
    }
  });
});

describe("faults", () => {
  test("a locked key delays no other key, and is verified once it is free", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const [locked, free] = [await issueKey(space), await issueKey(space)];
    expect(await verify(node, space, locked)).toBe("VALID");
    const release = await hold({ ...space.caller, id: locked.id as string as typeof space.caller.id });
    const pending = verify(node, space, locked);
    const other = await addKeyspace();
    expect(await verify(node, other, await issueKey(other))).toBe("VALID");
    expect(await verify(node, space, free)).toBe("VALID");
    await release();
    expect(await pending).toBe("VALID");
    expect(await readCounter(locked.id)).toMatchObject({ uses: 2 });
  });

  test("a node uses no facts from before a database lost its latest changes, whose versions are reused", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const colleague = { caller: await addKey() };
    await execute(sql`
      insert into members (workspace_id, user_id, role)
      values (${space.workspaceId}, ${colleague.caller.userId}, 'member')`);
    const [key, kept] = [await issueKey(space), await issueKey(space)];
    for (const one of [key, kept]) expect(await verify(node, space, one)).toBe("VALID");
    expect(await verify(node, colleague, kept)).toBe("VALID");
    await database.setAvailable(false);
    await database.setAvailable(true);
    // The versions stay the same, as if they had been reused.
    await execute(sql`update issued_keys set disabled_at = now() where id = ${key.id}`);
    await execute(sql`update api_keys set disabled_at = now() where id = ${colleague.caller.id}`);
    expect([
      await verify(node, space, kept),
      await verify(node, space, key),
      await verify(node, colleague, kept),
    ]).toEqual(["VALID", "DISABLED", "rejected"]);
  });

  test("a request that can't be decided by its deadline is unavailable, and the next ones are served", async () => {
    const node = openNode({ deadlineMs: 300 });
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 3 });
    const release = await hold({ ...space.caller, id: key.id as string as typeof space.caller.id });
    expect(await verify(node, space, key)).toBe("unavailable");
    await release();
    await expect.poll(() => verify(node, space, key)).toBe("VALID");
    expect((await readCounter(key.id))?.credits).toBeLessThan(3);
  });

  test("nothing is spent by a transaction that fails, and the failure is reported", async () => {
    const failures: unknown[] = [];
    const node = openNode({ onFailure: (error) => failures.push(error) });
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 3 });
    expect(await verify(node, space, key)).toBe("VALID");
    await execute(
      sql`alter table key_counters add constraint no_spending check (credits is null or credits > 1) not valid`,
    );
    expect(await verify(node, space, key)).toBe("unavailable");
    await execute(sql`alter table key_counters drop constraint no_spending`);
    expect(failures).toHaveLength(1);
    expect(await readCounter(key.id)).toMatchObject({ uses: 1, credits: 2 });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 1 });
    expect(await verify(node, space, key)).toBe("VALID");
  });
});
