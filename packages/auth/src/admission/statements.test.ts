import { randomUUID } from "node:crypto";
import type { KeyId, UserId } from "@latchkey/db/ids";
import { isDefiniteAbort } from "@latchkey/db/sqlstate";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { connectAsAdmission } from "./connect.test-kit.ts";
import { countOneText, countOneWithLimitText } from "./count-one.ts";
import { countText, countUses, countWithExpiryText, countWithLimitsText } from "./count-statement.ts";
import { resolveText, resolveUses } from "./resolve-statement.ts";
import { createIncrement } from "./usage-increment.test-kit.ts";
import type { UsageIncrement } from "./usage-increment.ts";

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  client = await connectAsAdmission(database.connection);
});
// A test's transaction ends with the test, even if the test fails.
afterEach(() => client.query("rollback"));
afterAll(async () => {
  await client.end();
  await database.drop();
});

async function explain(text: string): Promise<string> {
  const { rows } = await client.query<{ "QUERY PLAN": string }>(`explain (generic_plan) ${text}`);
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

/** Runs `work` without row-level security, as the user that the client signs in as, which owns everything. */
async function asOwner(work: () => Promise<unknown>): Promise<void> {
  await client.query("set role none");
  // Preparing a test may take longer than admission's timeouts, and may wait for autovacuum.
  await client.query("set local statement_timeout = 0");
  await client.query("set local lock_timeout = 0");
  await work();
  await client.query("set role latchkey_admission");
}

/** Explains a statement with empty tables and with 20,000 keys of one user. The plan must be the same. */
async function explainSmallAndLarge(text: string): Promise<string> {
  await client.query("begin");
  const small = await explain(text);
  await asOwner(async () => {
    await client.query(`
    insert into users (id, email, name) values ('00000000-0000-7000-8000-000000000000', 'ada@example.com', 'Ada')`);
    await client.query(`
    insert into api_keys (id, user_id, name, start, hash)
    select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, '00000000-0000-7000-8000-000000000000',
      'key', 'lk_000000', sha256(n::text::bytea)
    from generate_series(1, 20000) n`);
    await client.query("insert into key_counters (key_id) select id from api_keys");
    await client.query(`
    insert into workspaces (id, name, slug) values ('00000000-0000-7000-8000-000000000000', 'Ada', 'ada')`);
    await client.query(`
    insert into members (workspace_id, user_id, role)
    values ('00000000-0000-7000-8000-000000000000', '00000000-0000-7000-8000-000000000000', 'owner')`);
    await client.query("analyze users, api_keys, key_counters, workspaces, members");
  });
  const large = await explain(text);
  const shape = (plan: string): string => plan.replaceAll(/\(cost=.*?\)/g, "");
  expect(shape(large)).toBe(shape(small));
  return large;
}

test.each([
  ["keys without expiry and rate limit", countText],
  ["keys with expiry", countWithExpiryText],
  ["keys with rate limits", countWithLimitsText],
])(
  "counting %s reads the batch in the order of its keys, and finds each row by the index",
  async (_what, text) => {
    const plan = await explainSmallAndLarge(text);
    expect(plan).toMatch(/CTE input\s+(->\s+Result .*\s+)?->\s+Sort .*\s+Sort Key: input(_\d)?\.key_id\n/);
    expect(plan).toMatch(
      /Update on key_counters counter .*\s+InitPlan \d+\s+->\s+CTE Scan on changed_owner .*\s+->\s+Nested Loop .*\s+->\s+CTE Scan on input( \w+)? .*\s+(Filter: .*\s+)?->\s+Index Scan using key_counters_pkey on key_counters counter/,
    );
    expect(plan).toContain("Index Scan using owner_versions_pkey on owner_versions stored");
    expect(plan).not.toContain("Seq Scan");
  },
);

test.each<[string, Pick<UsageIncrement, "validUntil" | "limit">]>([
  ["without restrictions", { validUntil: null, limit: null }],
  ["that expire", { validUntil: "2999-01-01T00:00:00Z", limit: null }],
  ["with rate limits", { validUntil: null, limit: { quota: 10, windowSeconds: 60 } }],
])("counting keys %s locks their rows in the order of their keys", async (_what, restrictions) => {
  const keyIds = Array.from({ length: 3 }, () => randomUUID() as KeyId).sort();
  const [first, middle, last] = keyIds as [KeyId, KeyId, KeyId];
  await database.owner
    .insertInto("key_counters")
    .values(keyIds.map((key_id) => ({ key_id })))
    .execute();
  const other = await connect();
  await other.query("begin");
  await other.query("select from key_counters where key_id = $1 for update", [middle]);

  await client.query("begin; set local lock_timeout = 0; set local statement_timeout = 0");
  const increments = [last, first, middle].map((keyId) => createIncrement(keyId, restrictions));
  const counting = countUses(client, increments);
  await expect.poll(() => countWaiting(database.owner)).toBe(1);
  const free = "select key_id from key_counters where key_id = any($1) for update skip locked";
  const { rows: unlocked } = await other.query(free, [[first, last]]);
  await other.query("rollback");
  expect(await counting).toMatchObject({ uncounted: [] });
  expect(unlocked).toEqual([{ key_id: last }]);
});

test.each<[string, Pick<UsageIncrement, "validUntil" | "limit">]>([
  ["without restrictions", { validUntil: null, limit: null }],
  ["that expire", { validUntil: "2999-01-01T00:00:00Z", limit: null }],
  ["with rate limits", { validUntil: null, limit: { quota: 10, windowSeconds: 60 } }],
])(
  "counting one or several keys %s doesn't move their last use back if the clock is set back",
  async (_what, restrictions) => {
    const last_used_at = new Date("2999-01-01T00:00:00Z");
    for (const size of [1, 2]) {
      const keyIds = Array.from({ length: size }, () => randomUUID() as KeyId);
      await database.owner
        .insertInto("key_counters")
        .values(keyIds.map((key_id) => ({ key_id, last_used_at })))
        .execute();
      const increments = keyIds.map((keyId) => createIncrement(keyId, restrictions));
      expect(await countUses(client, increments)).toMatchObject({ uncounted: [] });
      const counters = await database.owner
        .selectFrom("key_counters")
        .select(["last_used_at", "use_count"])
        .where("key_id", "in", keyIds)
        .execute();
      expect(counters).toEqual(keyIds.map(() => ({ last_used_at, use_count: 1 })));
    }
  },
);

test.each([
  ["without a rate limit", countOneText],
  ["with a rate limit", countOneWithLimitText],
])("counting one key %s finds its row by the index, and reads no list", async (_what, text) => {
  const plan = await explainSmallAndLarge(text);
  expect(plan).toMatch(/^Update on key_counters counter/);
  expect(plan).toContain("Index Scan using key_counters_pkey on key_counters counter");
  expect(plan).toContain("Index Scan using owner_versions_pkey on owner_versions");
  expect(plan).not.toMatch(/Seq Scan|Function Scan|CTE|Sort/);
});

test("resolving uses indexes, and locks rows in the order of their keys before it changes the first one", async () => {
  const plan = await explainSmallAndLarge(resolveText);
  expect(plan).toContain("Index Scan using key_counters_pkey on key_counters counter");
  expect(plan).toMatch(/Index Scan (using|on) api_keys_hash_key/);
  expect(plan).toMatch(
    /Index Scan using members_\w+ on members .*\s+Index Cond: \(\(\w+ = .+\.\w+\) AND \(\w+ = .+\.\w+\)\)/,
  );
  expect(plan).toContain("Index Scan using users_pkey on users account");
  expect(plan).not.toContain("Seq Scan");
  // The input is already sorted, so the rows need no sort.
  expect(plan).toMatch(/CTE input\s+(->\s+Result .*\s+)?->\s+Sort .*\s+Sort Key: input(_\d)?\.key_id\n/);
  expect(plan).toMatch(
    /CTE locked\s+->\s+LockRows .*\s+InitPlan \d+\s+->\s+CTE Scan on changed_owner .*\s+->\s+Nested Loop .*\s+->\s+CTE Scan on input/,
  );
});

describe("uses of the keys of an owner whose version has changed", () => {
  const [owner, other] = [randomUUID() as UserId, randomUUID() as UserId];
  beforeAll(() =>
    database.owner.insertInto("owner_versions").values({ owner_id: owner, version: 2 }).execute(),
  );

  test.each<[string, Pick<UsageIncrement, "validUntil" | "limit">]>([
    ["without restrictions", { validUntil: null, limit: null }],
    ["that expire", { validUntil: "2999-01-01T00:00:00Z", limit: null }],
    ["with rate limits", { validUntil: null, limit: { quota: 10, windowSeconds: 60 } }],
  ])("are not counted for keys %s, alone and in a batch", async (_what, restrictions) => {
    const owners = [
      { ownerId: owner, ownerVersion: 2 },
      { ownerId: owner, ownerVersion: 1 },
      { ownerId: other, ownerVersion: 0 },
      { ownerId: owner, ownerVersion: 0 },
      { ownerId: other, ownerVersion: 1 },
      { ownerId: owner, ownerVersion: 2 },
    ];
    const increments = owners.map((versions) =>
      createIncrement(randomUUID() as KeyId, { ...versions, ...restrictions }),
    );
    await database.owner
      .insertInto("key_counters")
      .values(increments.map(({ keyId }) => ({ key_id: keyId })))
      .execute();
    const outdated = [1, 3, 4].map((index) => increments[index]?.keyId);
    const own = await connect();
    const { uncounted } = await countUses(own, increments);
    expect([...uncounted].sort()).toEqual([...outdated].sort());
    for (const increment of increments) {
      const alone = await countUses(own, [increment]);
      expect(alone.uncounted).toEqual(outdated.includes(increment.keyId) ? [increment.keyId] : []);
    }
    const findings = await resolveUses(own, { increments, lookups: [], firstUses: [] });
    expect(findings.uncounted).toEqual(new Map(outdated.map((keyId) => [keyId, "outdated"])));
    const counters = await database.owner
      .selectFrom("key_counters")
      .select(["key_id", "use_count"])
      .where(
        "key_id",
        "in",
        increments.map(({ keyId }) => keyId),
      )
      .execute();
    const counts = new Map(counters.map(({ key_id, use_count }) => [key_id, use_count]));
    expect(increments.map(({ keyId }) => counts.get(keyId))).toEqual([3, 0, 3, 0, 0, 3]);
  });
});

test("a use changes no index, even if a batch uses every row of a page: each row is updated in place", async () => {
  const keyIds = Array.from({ length: 1_024 }, () => randomUUID() as KeyId);
  await client.query("begin");
  // As many rows as a page takes, all used before. Only the free space of the page is available for the updates.
  await asOwner(() =>
    client.query("insert into key_counters (key_id, last_used_at) select unnest($1::uuid[]), now()", [
      keyIds,
    ]),
  );
  const readChanges = async (): Promise<{ updated: number; hot: number }> => {
    const { rows } = await client.query(`
      select pg_stat_get_xact_tuples_updated('key_counters'::regclass)::integer as updated,
        pg_stat_get_xact_tuples_hot_updated('key_counters'::regclass)::integer as hot`);
    return rows[0];
  };
  const increments = keyIds.map((keyId) => createIncrement(keyId));
  expect(await countUses(client, increments)).toEqual({ uncounted: [], limits: new Map() });
  expect(await readChanges()).toEqual({ updated: 1_024, hot: 1_024 });
  expect(await countUses(client, increments.slice(0, 1))).toEqual({ uncounted: [], limits: new Map() });
  expect(await readChanges()).toEqual({ updated: 1_025, hot: 1_025 });
});

test.each([
  [true, "a lock that is not available", "lock table key_counters in exclusive mode nowait"],
  [true, "a statement that was not prepared", "execute nothing"],
  [
    true,
    "a statement that was already prepared",
    "prepare something as select 1; prepare something as select 1",
  ],
  [false, "a statement that took too long", "set local statement_timeout = 1; select pg_sleep(1)"],
  [false, "a terminated connection", "select pg_terminate_backend(pg_backend_pid())"],
])("isDefiniteAbort is %s for %s", async (isCertain, _what, text) => {
  const other = await connect();
  await other.query("begin; lock table key_counters in exclusive mode");
  const mine = await connect();
  const error = await mine.query(`begin; ${text}`).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(pg.DatabaseError);
  expect(isDefiniteAbort(error)).toBe(isCertain);
});

/** A connection of the test, without admission's settings. */
async function connect(): Promise<pg.Client> {
  const own = new pg.Client(testClientConfig(database.connection, "test"));
  // The test may terminate it.
  own.on("error", () => undefined);
  await own.connect();
  onTestFinished(() => own.end());
  return own;
}
