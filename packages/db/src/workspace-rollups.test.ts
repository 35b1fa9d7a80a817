import { randomBytes, randomUUID } from "node:crypto";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, test } from "vitest";
import { insertApiKey } from "./api-key-changes.ts";
import { createId, type KeyId, type UserId, type WorkspaceId } from "./ids.ts";
import type { HourUsage } from "./key-history.ts";
import { createEmptyDatabase } from "./migrate.test-kit.ts";
import { migrate } from "./migrate.ts";
import { pruneKeyHistory } from "./prune-key-history.ts";
import type { Db } from "./schema.ts";
import { isLockTimeout } from "./sqlstate.ts";
import { countWaiting } from "./testing/count-waiting.ts";
import { passEndOf } from "./testing/pass-end-of.ts";
import { openTestPool, testClientConfig } from "./testing/test-connection.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import { inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";
import { listBusiestKeys, readWorkspaceUsage } from "./workspace-usage.ts";
import { insertWorkspace } from "./workspaces.ts";
import { writeKeyHistory } from "./write-key-history.ts";

// The requests of workspaces and their keys, which are added up while the history of keys is written.

let database: TestDatabase;
/** Two nodes. */
let nodes: readonly [Db, Db];
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  nodes = [openNode(), openNode()];
});
afterAll(async () => {
  for (const node of nodes) await node.destroy();
  await database.drop();
});
// The last day that is kept ends at midnight.
beforeEach(() => passEndOf("day"));

function openNode(): Db {
  return openTestPool(database.connection, { role: "latchkey_admission", applicationName: "statistics" });
}

async function write(usage: readonly HourUsage[], node = nodes[0]): Promise<void> {
  await writeKeyHistory(node, { usage, addresses: [], rejections: [], secrets: [] });
}

/** Like a node, writes again if the other one had the rows locked for too long, which happens on a busy machine. */
async function writeOnceUnlocked(usage: readonly HourUsage[], node?: Db): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write(usage, node);
    } catch (error) {
      if (!isLockTimeout(error) || attempt === 100) throw error;
    }
  }
}

/** Writes like a node of an earlier version, which doesn't update the rollups. */
async function writeAsEarlierVersion(usage: readonly HourUsage[]): Promise<void> {
  await sql`
    insert into key_usage_hours as known (key_id, hour, workspace_id, outcome, count)
    select * from jsonb_to_recordset(${JSON.stringify(usage)}::jsonb)
      as added ("keyId" uuid, hour timestamptz, "workspaceId" uuid, outcome text, count bigint)
    on conflict (key_id, hour, workspace_id, outcome) do update set count = known.count + excluded.count`.execute(
    nodes[0],
  );
}

const outcomes = ["admitted", "limited", "no-permission"] as const;

/** One request per key, workspace, hour and outcome, and one that belongs to no workspace. */
function createUsage(
  keyIds: readonly KeyId[],
  workspaceIds: readonly WorkspaceId[],
  hours: readonly Date[],
): HourUsage[] {
  return keyIds.flatMap((keyId) =>
    hours.flatMap((hour) => [
      { keyId, hour, workspaceId: null, outcome: "expired", count: 1 },
      ...workspaceIds.flatMap((workspaceId) =>
        outcomes.map((outcome, index) => ({ keyId, hour, workspaceId, outcome, count: index + 1 })),
      ),
    ]),
  );
}

/** What differs between the history of keys and its rollups; nothing if both are complete. */
async function findDifferences(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    with hours as (
      select workspace_id, hour, outcome, sum(count) as count from key_usage_hours
      where workspace_id is not null group by 1, 2, 3
    ),
    days as (
      select workspace_id, key_id, (hour at time zone 'UTC')::date as day, sum(count) as use_count,
        max(hour) as last_used_at
      from key_usage_hours where workspace_id is not null and outcome = 'admitted' group by 1, 2, 3
    )
    (select to_jsonb(hours) from hours except select to_jsonb(rollup) from workspace_usage_hours rollup)
    union all
    (select to_jsonb(rollup) from workspace_usage_hours rollup except select to_jsonb(hours) from hours)
    union all
    (select to_jsonb(days) from days except select to_jsonb(rollup) from workspace_key_days rollup)
    union all
    (select to_jsonb(rollup) from workspace_key_days rollup except select to_jsonb(days) from days)`.execute(
    db,
  );
  return rows;
}

async function countRollups(db: Db): Promise<unknown> {
  const { rows } = await sql`
    select (select count(*) from workspace_usage_hours) as hours,
      (select count(*) from workspace_key_days) as days`.execute(db);
  return rows[0];
}

async function clear(): Promise<void> {
  await sql`truncate key_usage_hours, workspace_usage_hours, workspace_key_days`.execute(database.owner);
}

const createKeyIds = (count: number) => Array.from({ length: count }, () => createId("key"));
const workspaceIds = [createId("workspace"), createId("workspace")];
const hours = ["2026-03-01T23:00:00Z", "2026-03-02T00:00:00Z", "2026-03-02T12:00:00Z"].map(
  (text) => new Date(text),
);

test("equal the history after concurrent writes of two nodes in opposite orders", async () => {
  await clear();
  const usage = createUsage(createKeyIds(30), workspaceIds, hours);
  for (let round = 0; round < 10; round += 1)
    await Promise.all([writeOnceUnlocked(usage), writeOnceUnlocked(usage.toReversed(), nodes[1])]);
  expect(await countRollups(database.owner)).toEqual({ hours: 2 * 3 * 3, days: 30 * 2 * 2 });
  expect(await findDifferences(database.owner)).toEqual([]);
});

test("equal the history if a node of an earlier version adds and increases hours too", async () => {
  await clear();
  const [first, second] = [createKeyIds(5), createKeyIds(5)];
  await writeAsEarlierVersion(createUsage(first, workspaceIds, hours));
  await write(createUsage(first, workspaceIds, hours));
  await writeAsEarlierVersion(createUsage([...first, ...second], workspaceIds, hours));
  await write(createUsage(second, workspaceIds, hours));
  expect(await countRollups(database.owner)).toEqual({ hours: 2 * 3 * 3, days: 10 * 2 * 2 });
  expect(await findDifferences(database.owner)).toEqual([]);
});

test("contain nothing of a write that failed", async () => {
  await clear();
  const usage = createUsage(createKeyIds(1), workspaceIds, hours);
  const failing = { ...usage[0], workspaceId: workspaceIds[0], outcome: "\0" } as HourUsage; // Postgres rejects NUL.
  await expect(write([...usage, failing])).rejects.toThrow();
  expect(await countRollups(database.owner)).toEqual({ hours: 0, days: 0 });
});

test("equal the history from before the migration that adds them", async () => {
  const { connection, db } = await createEmptyDatabase();
  await migrate(connection, { upTo: "0017-jobs" });
  const far = [new Date("2019-05-01T00:00:00Z"), new Date("2019-05-01T23:00:00Z")];
  for (const { keyId, workspaceId, ...row } of createUsage(createKeyIds(3), workspaceIds, [...far, ...hours]))
    await db
      .insertInto("key_usage_hours")
      .values({ key_id: keyId, workspace_id: workspaceId, ...row })
      .execute();
  await migrate(connection);
  expect(await countRollups(db)).toEqual({ hours: 5 * 2 * 3, days: 3 * 3 * 2 });
  expect(await findDifferences(db)).toEqual([]);
});

// Two transactions that lock the same rows in the same order wait for each other but can't deadlock.
test.each(["workspace_usage_hours", "workspace_key_days"])(
  "rows of %s are locked in order",
  async (table) => {
    await clear();
    const ids = Array.from({ length: 20 }, () => createId("workspace"));
    const usage = createUsage(createKeyIds(1), ids, hours.slice(0, 1));
    await write(usage);
    const sorted = ids.toSorted();
    const blocker = new pg.Client(testClientConfig(database.connection, "blocker"));
    await blocker.connect();
    onTestFinished(() => blocker.end());
    await blocker.query("begin");
    await blocker.query(`select from ${table} where workspace_id = $1 for update`, [sorted[10]]);
    const writing = write(usage.toReversed());
    await expect.poll(() => countWaiting(database.owner), { interval: 10 }).toBe(1);
    const { rows } = await sql<{ id: WorkspaceId }>`
    select workspace_id as id from ${sql.table(table)} for update skip locked`.execute(database.owner);
    expect([...new Set(rows.map(({ id }) => id))].toSorted()).toEqual(sorted.slice(11));
    await blocker.query("commit");
    await writing;
  },
);

test("are pruned by day, as the hours, so that both add up to the same counts", async () => {
  await clear();
  const hourMs = 3_600_000;
  const now = Math.floor(Date.now() / hourMs) * hourMs;
  const ago = (days: number) => new Date(now - days * 24 * hourMs);
  await write(createUsage(createKeyIds(1), workspaceIds.slice(0, 1), [ago(40), ago(32), ago(29), ago(1)]));
  for (let step = 0; step < 20; step += 1) {
    const { hours } = await pruneKeyHistory(nodes[0], { keepDays: 30, maxHours: 2 });
    if (hours === 0) break;
  }
  const { rows } = await sql<{ hour: Date }>`
    select distinct hour from workspace_usage_hours order by 1`.execute(database.owner);
  expect(rows.map(({ hour }) => hour)).toEqual([ago(29), ago(1)]);
  const { rows: days } = await sql<{ last: Date }>`
    select last_used_at as last from workspace_key_days order by 1`.execute(database.owner);
  expect(days.map(({ last }) => last)).toEqual([ago(29), ago(1)]);
});

async function addWorkspaceWithKeys(count: number): Promise<{ scope: WorkspaceScope; keyIds: KeyId[] }> {
  return await database.db.transaction().execute(async (trx) => {
    const user = { email: `${randomUUID()}@example.com`, name: "Ada", passwordHash: "hash" };
    const userId = (await insertUserWithPassword(trx, user)) as UserId; // No account has this email address.
    const made = await insertWorkspace(trx, { name: "Team", slug: randomUUID(), ownerId: userId });
    const keyIds: KeyId[] = [];
    for (let index = 0; index < count; index += 1) {
      const key = { userId, name: "key", description: "", start: "lk_abcdef", hash: randomBytes(32) };
      keyIds.push((await insertApiKey(trx, key)) as KeyId); // The user is not disabled.
    }
    return { scope: made?.scope as WorkspaceScope, keyIds }; // No workspace has this slug.
  });
}

test.each([
  ["whole days", "2026-03-02T00:00:00Z", "2026-03-04T00:00:00Z"],
  ["days of another time zone", "2026-03-01T17:00:00Z", "2026-03-03T17:00:00Z"],
  ["less than a day", "2026-03-02T05:00:00Z", "2026-03-02T20:00:00Z"],
  ["hours around midnight", "2026-03-02T20:00:00Z", "2026-03-03T05:00:00Z"],
  ["a period that ends in the future", "2026-03-02T20:00:00Z", "2999-01-01T12:00:00Z"],
])("the busiest keys of %s have the uses of these hours", async (_name, from, to) => {
  await clear();
  const { scope, keyIds } = await addWorkspaceWithKeys(2);
  const start = Date.parse("2026-03-01T00:00:00Z");
  const all = Array.from({ length: 96 }, (_, index) => new Date(start + index * 3_600_000));
  const usage = all.flatMap((hour, index) =>
    keyIds.map((keyId, place) => ({
      keyId,
      hour,
      workspaceId: scope.workspaceId,
      outcome: "admitted",
      count: index * 10 + place,
    })),
  );
  await write(usage);
  const period = { from: new Date(from), to: new Date(to) };
  const expected = (keyId: KeyId | undefined) =>
    usage
      .filter((row) => row.keyId === keyId && row.hour >= period.from && row.hour < period.to)
      .reduce((sum, { count }) => sum + count, 0);
  const busiest = await inWorkspace(database.db, scope, (trx) =>
    listBusiestKeys(trx, scope, { ...period, limit: 5 }),
  );
  expect(busiest.map(({ id, count }) => [id, count])).toEqual(
    [keyIds[1], keyIds[0]].map((keyId) => [keyId, expected(keyId)]),
  );
});

test("statistics of a workspace don't read the hours of its keys", async () => {
  await clear();
  const { scope, keyIds } = await addWorkspaceWithKeys(1);
  await write(createUsage(keyIds, [scope.workspaceId], hours));
  await sql`truncate key_usage_hours`.execute(database.owner);
  const [from, to] = [new Date("2026-03-01T00:00:00Z"), new Date("2026-03-03T00:00:00Z")];
  await inWorkspace(database.db, scope, async (trx) => {
    expect(await readWorkspaceUsage(trx, scope, { starts: [from], to })).toEqual([
      { startsAt: from, outcome: "admitted", count: 3 },
      { startsAt: from, outcome: "limited", count: 6 },
      { startsAt: from, outcome: "no-permission", count: 9 },
    ]);
    expect(await listBusiestKeys(trx, scope, { from, to, limit: 5 })).toMatchObject([
      { id: keyIds[0], count: 3 },
    ]);
  });
});
