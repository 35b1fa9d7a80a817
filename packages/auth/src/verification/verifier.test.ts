import { createHash, randomBytes } from "node:crypto";
import type { NamedLimit } from "@latchkey/db/issued-key-settings";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { createApiKey, digestKey } from "../key-format.ts";
import { installStoppableClock, type StopClock } from "../stoppable-clock.test-kit.ts";
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
let stopClock: StopClock;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  stopClock = await installStoppableClock(database);
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
  failChanges,
  hold,
  issueKey,
  openNode,
  readCounter,
} = kit;

const hourly = (quota: number, name = "requests", appliesAlways = true): NamedLimit => ({
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
      update api_keys set expires_at = clock_timestamp() + interval '1 hour' where id = ${space.caller.id}`);
    expect(await verify(node, space, key)).toBe("VALID");
    await stopClock(3_601);
    expect(await verify(node, space, key)).toBe("rejected");
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

  test("waits only if its user has fewer than 60,000 verifications pending", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    const key = await issueKey(space);
    const verifications = Array.from({ length: 100 }, () => verificationOf(key));
    const request = { address: undefined, name: undefined, verifications };
    const answers = await Promise.all(
      Array.from({ length: 610 }, () => node.verify(space.caller.secret, request)),
    );
    expect(answers.filter(({ verdict }) => verdict.kind === "unavailable")).toHaveLength(10);
    expect(await readCounter(key.id)).toMatchObject({ uses: 60_000 });
    expect(await verify(node, space, key)).toBe("VALID");
  });

  test("is answered long before a flood of another user with several keys", async () => {
    const node = openNode(patient);
    const [space, flooded] = [await addKeyspace(), await addKeyspace()];
    const [key, floodedKey] = [await issueKey(space), await issueKey(flooded)];
    const callers = [flooded.caller];
    for (let added = 0; added < 4; added += 1) callers.push(await addKey(flooded.caller.userId));
    // Each key is known, as for a user who has sent requests before.
    for (const caller of [...callers, space.caller]) {
      const known = { caller };
      await verify(node, known, floodedKey);
    }
    const verifications = Array.from({ length: 100 }, () => verificationOf(floodedKey));
    const request = { address: undefined, name: undefined, verifications };
    let floodAnswers = 0;
    const flood = Array.from({ length: 200 }, async (_, index) => {
      await node.verify(callers[index % callers.length]?.secret ?? "", request);
      floodAnswers += 1;
    });
    expect(await verify(node, space, key)).toBe("VALID");
    expect(floodAnswers).toBeLessThan(20);
    await Promise.all(flood);
  });

  test("of one user waits only if half of the queue is left for others", async () => {
    const node = openNode({ ...patient, maxWaiting: 10 });
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    const [key, otherKey] = [await issueKey(space), await issueKey(other)];
    const callers = [space.caller, await addKey(space.caller.userId)] as const;
    for (const caller of callers) await verify(node, { caller }, key);
    await verify(node, other, otherKey);
    const [flood, others] = [
      Array.from({ length: 20 }, (_, index) =>
        verify(node, { caller: callers[index % 2 === 0 ? 0 : 1] }, key),
      ),
      Array.from({ length: 5 }, () => verify(node, other, otherKey)),
    ];
    expect(count(await Promise.all(flood), "unavailable")).toBe(15);
    expect(await Promise.all(others)).toEqual(Array.from({ length: 5 }, () => "VALID"));
  });

  test("with an unknown key to verify waits only while half of the queue is free for others", async () => {
    const node = openNode({ ...patient, maxWaiting: 10 });
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    const key = await issueKey(space);
    const floods = [other.caller, await addKey()];
    for (const caller of [space.caller, ...floods]) await verify(node, { caller }, key);
    const unknown = { secret: `acme_${randomBytes(24).toString("hex")}` };
    const [flood, known] = [
      floods.flatMap((caller) => Array.from({ length: 4 }, () => verify(node, { caller }, unknown))),
      Array.from({ length: 5 }, () => verify(node, space, key)),
    ];
    expect(count(await Promise.all(flood), "unavailable")).toBe(3);
    expect(await Promise.all(known)).toEqual(Array.from({ length: 5 }, () => "VALID"));
  });

  test("with an unknown key to verify leaves room for another user's, however many one user sends", async () => {
    const node = openNode({ ...patient, maxWaiting: 12 });
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    for (const { caller } of [space, other]) await verify(node, { caller }, await issueKey(space));
    const unknown = { secret: `acme_${randomBytes(24).toString("hex")}` };
    const key = await issueKey(space);
    const [flood, first] = [
      Array.from({ length: 10 }, () => verify(node, other, unknown)),
      verify(node, space, key),
    ];
    expect(await first).toBe("VALID");
    expect(count(await Promise.all(flood), "unavailable")).toBe(7);
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

  test("that the workspace rejects because its owner has no second factor is disabled, on every node", async () => {
    const nodes = [openNode(), openNode()];
    const space = await addKeyspace({ role: "admin" });
    const target = await addKey();
    await execute(sql`
      insert into members (workspace_id, user_id, role) values (${space.workspaceId}, ${target.userId}, 'viewer')`);
    await execute(sql`
      insert into totp_factors (user_id, secret, confirmed_at) values (${space.caller.userId}, 'sealed', now())`);
    // In the role of the product, because row-level security hides the members from the owner of the database.
    const setRequired = async (isRequired: boolean) =>
      await database.db.transaction().execute(async (trx) => {
        await sql`select set_config('latchkey.workspace_id', ${space.workspaceId}, true)`.execute(trx);
        await sql`update workspaces set requires_second_factor = ${isRequired}`.execute(trx);
      });
    const verifyOnEach = () =>
      Promise.all(nodes.map((node) => verify(node, space, target, { workspaceId: space.workspaceId })));
    expect(await verifyOnEach()).toEqual(["VALID", "VALID"]);
    await setRequired(true);
    expect(await verifyOnEach()).toEqual(["DISABLED", "DISABLED"]);
    await execute(sql`
      insert into totp_factors (user_id, secret, confirmed_at) values (${target.userId}, 'sealed', now())`);
    expect(await verifyOnEach()).toEqual(["VALID", "VALID"]);
    await execute(sql`delete from totp_factors where user_id = ${target.userId}`);
    expect(await verifyOnEach()).toEqual(["DISABLED", "DISABLED"]);
    await setRequired(false);
    expect(await verifyOnEach()).toEqual(["VALID", "VALID"]);
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

describe("requests without meters", () => {
  test("are counted without locking their counters before", async () => {
    const node = openNode(patient);
    const space = await addKeyspace();
    const key = await issueKey(space);
    // The node gets to know the facts and the database's time.
    expect(await verify(node, space, key)).toBe("VALID");
    const release = await hold({ ...space.caller, id: key.id as string as typeof space.caller.id });
    const pending = verify(node, space, key);
    const readWaiting = async () => {
      const { rows } = await execute(sql<{ query: string }>`
        select query from pg_stat_activity
        where datname = current_database() and application_name = 'latchkey verification' and wait_event_type = 'Lock'`);
      return rows.map(({ query }) => query.match(/\w+(?= as \(\s+(update|select counter))/)?.[0] ?? query);
    };
    await expect.poll(readWaiting).toEqual(["counted_issued_key"]);
    await release();
    expect(await pending).toBe("VALID");
    expect(await readCounter(key.id)).toMatchObject({ uses: 2 });
  });

  test("of disabled keys follow a change on another node, and count no use", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space);
    await execute(sql`update issued_keys set disabled_at = now() where id = ${key.id}`);
    for (let round = 0; round < 3; round += 1) expect(await verify(node, space, key)).toBe("DISABLED");
    expect(await readCounter(key.id)).toMatchObject({ uses: 0 });
    await execute(sql`update issued_keys set disabled_at = null where id = ${key.id}`);
    await execute(sql`update key_counters set version = version + 1 where key_id = ${key.id}`);
    expect(await verify(node, space, key)).toBe("VALID");
  });

  test("spend credits that a key gets without a change of its version", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space);
    for (let round = 0; round < 2; round += 1) expect(await verify(node, space, key)).toBe("VALID");
    await execute(
      sql`update key_counters set credits = 1, credits_refilled_at = now() where key_id = ${key.id}`,
    );
    expect(await verify(node, space, key)).toBe("VALID");
    expect(await verify(node, space, key)).toBe("USAGE_EXCEEDED");
    expect(await readCounter(key.id)).toMatchObject({ uses: 3, credits: 0 });
  });

  test("are counted exactly among requests with meters, with changes and without, on two nodes", async () => {
    const nodes = [openNode(patient), openNode(patient)] as const;
    const space = await addKeyspace();
    const plain = await Promise.all(Array.from({ length: 10 }, () => issueKey(space)));
    const metered = await issueKey(space, { credits: 500 });
    const changing = await issueKey(space);
    let admitted = 0;
    const expected = new Map<string, number>();
    const request = async (index: number) => {
      const own = [plain[index % 10], plain[(3 * index) % 10]] as [TestIssuedKey, TestIssuedKey];
      const keys = [...own, ...(index % 3 === 0 ? [metered] : []), ...(index % 4 === 0 ? [changing] : [])];
      if (index % 2 === 0) keys.reverse();
      const answer = await (nodes[index % 2] ?? nodes[0]).verify(space.caller.secret, {
        address: undefined,
        name: undefined,
        verifications: keys.map((key) => verificationOf(key)),
      });
      expect(codesOf(answer)).toEqual(keys.map(() => "VALID"));
      admitted += 1;
      for (const { id } of keys) expected.set(id, (expected.get(id) ?? 0) + 1);
    };
    const change = () =>
      execute(sql`update key_counters set version = version + 1 where key_id = ${changing.id}`);
    for (let round = 0; round < 10; round += 1)
      await Promise.all([
        ...Array.from({ length: 40 }, (_, index) => request(40 * round + index)),
        ...(round % 2 === 0 ? [change(), change()] : []),
      ]);
    const counted = new Map<string, number | undefined>();
    for (const { id } of [...plain, metered, changing]) counted.set(id, (await readCounter(id))?.uses);
    expect(counted).toEqual(new Map([...counted.keys()].map((id) => [id, expected.get(id)])));
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: admitted });
  });
});

describe("a request with a name", () => {
  const named = (key: string, body = "body") => ({
    method: "POST",
    path: "/open/keys/verify",
    key,
    requestHash: createHash("sha256").update(body).digest(),
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

  test("is rejected if an earlier one in its batch has the same name and a different body, and affects no other request", async () => {
    const node = openNode(patient);
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    const [key, otherKey] = [
      await issueKey(space, { credits: 100 }),
      await issueKey(other, { credits: 100 }),
    ];
    const send = async (caller: string, verified: TestIssuedKey, name?: ReturnType<typeof named>) =>
      codesOf(
        await node.verify(caller, { address: undefined, name, verifications: [verificationOf(verified)] }),
      )[0] as string;
    await Promise.all([send(space.caller.secret, key), send(other.caller.secret, otherKey)]);
    const queries = vi.spyOn(pg.Client.prototype, "query");
    const reused = Array.from({ length: 30 }, (_, index) =>
      ["body", "another body", "body"].map((body) =>
        send(space.caller.secret, key, named(`shared ${index}`, body)),
      ),
    );
    const others = Array.from({ length: 20 }, () => send(other.caller.secret, otherKey));
    expect(count(await Promise.all(others), "VALID")).toBe(20);
    const codes = await Promise.all(reused.flat());
    expect(count(codes, "VALID")).toBe(60);
    expect(count(codes, "name-reused")).toBe(30);
    expect(await readCounter(key.id)).toMatchObject({ credits: 100 - 1 - 30 });
    // No batch failed and was split into smaller ones.
    expect(
      count(
        queries.mock.calls.map(([query]) => String(query)),
        "begin",
      ),
    ).toBeLessThan(10);
    queries.mockRestore();
  });

  test("is rejected if its API key has used too many names within an hour, and spends nothing", async () => {
    const nodes = [openNode({ maxNamedPerHour: 3 }), openNode({ maxNamedPerHour: 3 })];
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 100 });
    const send = async (name: string | undefined, count: number, node = nodes[0] as Verifier) =>
      await node.verify(space.caller.secret, {
        address: undefined,
        name: name === undefined ? undefined : named(name),
        verifications: Array.from({ length: count }, () => verificationOf(key)),
      });
    expect(codesOf(await send("first", 2))).toEqual(["VALID", "VALID"]);
    expect(codesOf(await send("too many", 2, nodes[1]))).toEqual(["too-many-names"]);
    expect(codesOf(await send("second", 1))).toEqual(["VALID"]);
    const { outcome } = await send("third", 1, nodes[1]);
    expect(outcome).toEqual({ kind: "too-many-names", retryAfterSeconds: expect.any(Number) });
    expect(outcome).toMatchObject({
      retryAfterSeconds: expect.toSatisfy((n: number) => n > 3_500 && n <= 3_600),
    });
    // A retry and a request without a name use up nothing.
    expect(codesOf(await send("second", 1, nodes[1]))).toEqual(["VALID"]);
    expect(codesOf(await send(undefined, 1))).toEqual(["VALID"]);
    expect(await readCounter(key.id)).toMatchObject({ uses: 4, credits: 96 });
    await execute(sql`
      update key_counters set windows = jsonb_build_object('idempotency-keys', jsonb_build_array(1, 3))
      where key_id = ${space.caller.id}`);
    expect(codesOf(await send("third", 1))).toEqual(["VALID"]);
  });

  test("is not known after an hour", async () => {
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
      update idempotency_records set created_at = now() - interval '61 minutes' where user_id = ${space.caller.userId}`);
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

describe("a member without an API key", () => {
  const verifyAsMember = async (
    node: Verifier,
    { caller, workspaceId }: Pick<TestKeyspace, "caller" | "workspaceId">,
    key: Pick<TestIssuedKey, "secret">,
    change: Parameters<typeof verificationOf>[1] = {},
  ): Promise<string> => {
    const verification = { ...verificationOf(key, change), workspaceId };
    const outcome = await node.verifyWithoutKey(caller.userId, verification);
    return outcome?.kind === "verified" ? (outcome.results[0]?.code ?? "none") : (outcome?.kind ?? "none");
  };

  test("spends from the key, and counts no use of any API key", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space, { credits: 3, limits: [hourly(2)] });
    expect(await verifyAsMember(node, space, key, { cost: 2 })).toBe("VALID");
    expect(await verifyAsMember(node, space, key)).toBe("RATE_LIMITED");
    expect(await verifyAsMember(node, space, key, { cost: 0 })).toBe("VALID");
    expect(await readCounter(key.id)).toMatchObject({ uses: 1, credits: 1 });
    expect(await readCounter(space.caller.id)).toMatchObject({ uses: 0 });
  });

  test("finds no key of another workspace, whatever the member may do there", async () => {
    const node = openNode();
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    const key = await issueKey(other);
    expect(await verifyAsMember(node, space, key)).toBe("NOT_FOUND");
    // Remembered facts don't change that.
    expect(await verify(node, other, key)).toBe("VALID");
    expect(await verifyAsMember(node, space, key)).toBe("NOT_FOUND");
  });

  test("sees a change to the key that another node has committed", async () => {
    const node = openNode();
    const space = await addKeyspace();
    const key = await issueKey(space);
    expect(await verifyAsMember(node, space, key)).toBe("VALID");
    await execute(sql`update keyspaces set disabled_at = now() where id = ${space.keyspaceId}`);
    await bumpOwner(space.keyspaceId);
    expect(await verifyAsMember(node, space, key)).toBe("DISABLED");
  });

  test("verifies an API key with the permissions that its owner has in the workspace", async () => {
    const node = openNode();
    const space = await addKeyspace();
    expect(await verifyAsMember(node, space, space.caller, { cost: 0 })).toBe("VALID");
    const permissions = parsePermissionQuery("members:manage") as PermissionQuery;
    expect(await verifyAsMember(node, space, space.caller, { permissions })).toBe("INSUFFICIENT_PERMISSIONS");
  });

  test("gets no result while the database is unavailable", async () => {
    const node = openNode({ deadlineMs: 300 });
    const space = await addKeyspace();
    const key = await issueKey(space);
    const release = await hold({ ...space.caller, id: key.id as string as typeof space.caller.id });
    expect(await verifyAsMember(node, space, key)).toBe("none");
    await release();
    await expect.poll(() => verifyAsMember(node, space, key)).toBe("VALID");
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

  describe("a locked key delays the others at most once", () => {
    const rounds = 20;

    /** How long verifications of other tenants take in milliseconds, each while a key of one tenant is to be verified. */
    async function measure(node: Verifier, requestNext: (round: number) => void): Promise<number> {
      const others = await Promise.all(Array.from({ length: 4 }, () => addKeyspace()));
      const keys = await Promise.all(others.map((space) => issueKey(space)));
      const startedAt = performance.now();
      for (let round = 0; round < rounds; round += 1) {
        requestNext(round);
        const [space, key] = [others[round % 4] as TestKeyspace, keys[round % 4] as TestIssuedKey];
        expect(await verify(node, space, key)).toBe("VALID");
      }
      return performance.now() - startedAt;
    }

    test.each([
      ["while many requests wait for it", 1],
      ["even if other keys of its workspace are locked too", rounds],
    ])("%s", async (_, count) => {
      const node = openNode(patient);
      const space = await addKeyspace();
      const keys = await Promise.all(Array.from({ length: count }, () => issueKey(space)));
      const results: Promise<string>[] = [];
      const request = (round: number) => {
        results.push(verify(node, space, keys[round % count] as TestIssuedKey));
      };
      const unlockedMs = await measure(node, request);
      const releases = [];
      for (const { id } of keys)
        releases.push(await hold({ ...space.caller, id: id as string as typeof space.caller.id }));
      // If each of them waited for the lock, they would take 100 ms more each.
      expect(await measure(node, request)).toBeLessThan(2 * unlockedMs + (100 * rounds) / 2);
      for (const release of releases) await release();
      expect(new Set(await Promise.all(results))).toEqual(new Set(["VALID"]));
      const counters = await Promise.all(keys.map(({ id }) => readCounter(id)));
      expect(counters.reduce((sum, counter) => sum + (counter?.uses ?? 0), 0)).toBe(2 * rounds);
    });
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

  test("keys that a node knows stay known when its connection is lost, and their facts are read again", async () => {
    const node = openNode({ ...patient, maxWaiting: 10 });
    const [space, other] = [await addKeyspace(), await addKeyspace()];
    const [key, otherKey, third] = [await issueKey(space), await issueKey(other), await issueKey(other)];
    for (const one of [otherKey, third]) await verify(node, other, one);
    await verify(node, space, key);
    await execute(sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'latchkey verification'`);
    // As if the change reused a version: facts from before are not used.
    await execute(sql`update issued_keys set disabled_at = now() where id = ${otherKey.id}`);
    await expect.poll(() => verify(node, other, third)).toBe("VALID");
    // Each caller may fill half of the queue, and a quarter of it with unknown keys.
    const answers = [
      ...Array.from({ length: 5 }, () => verify(node, space, key)),
      ...Array.from({ length: 5 }, () => verify(node, other, otherKey)),
    ];
    const expected = ["VALID", "DISABLED"].flatMap((code) => Array.from({ length: 5 }, () => code));
    expect(await Promise.all(answers)).toEqual(expected);
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

describe.each([
  ["of keys with credits", 100],
  ["of keys without meters", null],
])("a batch %s that fails", (_keys, credits) => {
  const isMetered = credits !== null;

  /** Several tenants, each with a key, and one more whose key is broken. */
  async function addTenants() {
    const spaces = await Promise.all(Array.from({ length: 6 }, () => addKeyspace()));
    const keys = [];
    for (const space of spaces)
      keys.push({ space, key: await issueKey(space, isMetered ? { credits } : {}) });
    const [poisoned, ...others] = keys;
    if (!poisoned) throw new Error("There are no keys.");
    return { poisoned, others };
  }

  test.each([
    ["statement timeout", "57014", 1],
    ["deadlock", "40P01", 1],
    ["value out of range", "22003", 1],
    ["lock timeout", "55P03", 0],
  ])("because of one key's %s fails only the requests for this key", async (_, code, reported) => {
    const failures: unknown[] = [];
    const node = openNode({ onFailure: (error) => failures.push(error) });
    const { poisoned, others } = await addTenants();
    for (const { space, key } of [poisoned, ...others]) expect(await verify(node, space, key)).toBe("VALID");
    await failChanges(poisoned.key, code);
    const codes = await Promise.all(
      [...others.slice(0, 3), poisoned, ...others.slice(3)].map(({ space, key }) => verify(node, space, key)),
    );
    expect(codes).toEqual(["VALID", "VALID", "VALID", "unavailable", "VALID", "VALID"]);
    expect(failures).toHaveLength(reported);
    expect(await readCounter(poisoned.key.id)).toMatchObject({ uses: 1, credits: isMetered ? 99 : null });
    expect(await readCounter(poisoned.space.caller.id)).toMatchObject({ uses: 1 });
    for (const { space, key } of others) {
      expect(await readCounter(key.id)).toMatchObject({ uses: 2, credits: isMetered ? 98 : null });
      expect(await readCounter(space.caller.id)).toMatchObject({ uses: 2 });
    }
  });

  test("because a request can't be decided fails only this request", async () => {
    const node = openNode();
    const { poisoned, others } = await addTenants();
    for (const { space, key } of others) expect(await verify(node, space, key)).toBe("VALID");
    await execute(sql`update issued_keys set limits = 'null' where id = ${poisoned.key.id}`);
    const codes = await Promise.all([poisoned, ...others].map(({ space, key }) => verify(node, space, key)));
    expect(codes).toEqual(["unavailable", ...others.map(() => "VALID")]);
  });

  test("during its commit is unavailable as a whole, because it may have been committed", async () => {
    const failures: unknown[] = [];
    const node = openNode({ onFailure: (error) => failures.push(error) });
    const { poisoned, others } = await addTenants();
    for (const { space, key } of [poisoned, ...others]) expect(await verify(node, space, key)).toBe("VALID");
    await failChanges(poisoned.key, "40P01", { when: "on commit" });
    const codes = await Promise.all([poisoned, ...others].map(({ space, key }) => verify(node, space, key)));
    expect(new Set(codes)).toEqual(new Set(["unavailable"]));
    expect(failures).toHaveLength(1);
    for (const { space, key } of others) expect(await verify(node, space, key)).toBe("VALID");
  });

  test("is not what an unknown limit causes: only the request that names it is rejected, and spends nothing", async () => {
    const node = openNode();
    const { poisoned, others } = await addTenants();
    const [other] = others;
    if (!other) throw new Error("There is one tenant.");
    for (const { space, key } of [poisoned, ...others]) expect(await verify(node, space, key)).toBe("VALID");
    const unknownLimit = { limits: [{ name: "unknown", cost: 1 }] };
    const verifications = [
      verificationOf(poisoned.key),
      verificationOf(other.key, unknownLimit), // The caller may not verify it.
      verificationOf(poisoned.key, unknownLimit),
    ];
    const { secret } = poisoned.space.caller;
    const [answer, ...codes] = await Promise.all([
      node.verify(secret, { address: undefined, name: undefined, verifications }),
      verify(node, poisoned.space, poisoned.key, unknownLimit),
      verify(node, poisoned.space, poisoned.key),
      ...others.map(({ space, key }) => verify(node, space, key)),
    ]);
    expect(answer.outcome).toEqual({ kind: "unknown-limit", verification: 2, limit: 0 });
    expect(codes).toEqual(["unknown-limit", "VALID", ...others.map(() => "VALID")]);
    expect(await readCounter(poisoned.key.id)).toMatchObject({ uses: 2, credits: isMetered ? 98 : null });
    expect(await readCounter(poisoned.space.caller.id)).toMatchObject({ uses: 4 });
  });

  test("leaves the requests of later batches alone", async () => {
    const node = openNode(patient);
    const { poisoned, others } = await addTenants();
    for (const { space, key } of [poisoned, ...others]) expect(await verify(node, space, key)).toBe("VALID");
    await failChanges(poisoned.key, "40P01", { when: "on commit" });
    const { space, key } = poisoned;
    const many = Array.from({ length: 500 }, () => verificationOf(key));
    // The first request fills a batch.
    const request = { address: undefined, name: undefined, verifications: many };
    const [first, ...codes] = await Promise.all([
      node.verify(space.caller.secret, request).then(codesOf),
      ...others.map((other) => verify(node, other.space, other.key)),
    ]);
    expect(first).toEqual(["unavailable"]);
    expect(codes).toEqual(others.map(() => "VALID"));
  });
});
