import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { type Candidates, listBusiestConsumers, listBusiestIssuedKeys } from "./busiest-subjects.ts";
import { type ConsumerId, createId, type IssuedKeyId, type KeyspaceId } from "./ids.ts";
import {
  createIds,
  createUsage,
  keyspaceId,
  openNode,
  scope,
  used,
  workspaceId,
} from "./keyspace-history.test-kit.ts";
import type { Db } from "./schema.ts";
import { countReads, type Reads } from "./testing/count-reads.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceTrx } from "./workspace-scope.ts";
import {
  type IssuedKeyHourUsage,
  type KeyspaceHistory,
  writeKeyspaceHistory,
} from "./write-keyspace-history.ts";

// The keys and consumers with the most verifications.

let database: TestDatabase;
let node: Db;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  node = openNode(database);
});
afterAll(async () => {
  await node.destroy();
  await database.drop();
});

async function write(history: Partial<KeyspaceHistory>): Promise<void> {
  await writeKeyspaceHistory(node, { usage: [], tags: [], rejections: [], ...history });
}

async function clear(): Promise<void> {
  await sql`
    truncate keyspace_usage_hours, keyspace_usage_days, keyspace_tag_hours, issued_key_rejections`.execute(
    database.owner,
  );
}

function read<Result>(work: (trx: WorkspaceTrx) => Promise<Result>): Promise<Result> {
  return inWorkspace(database.db, scope, work);
}

function measure(work: (trx: WorkspaceTrx) => Promise<unknown>): Promise<Reads> {
  return read((trx) => countReads(trx, ["keyspace_usage_hours", "keyspace_usage_days"], () => work(trx)));
}

/** Adds consumers of the keyspace. */
async function addConsumers(ids: readonly ConsumerId[]): Promise<void> {
  const values = ids.map((id) => ({
    workspace_id: workspaceId,
    keyspace_id: keyspaceId,
    id,
    external_id: `consumer ${id}`,
  }));
  await read((trx) => trx.insertInto("consumers").values(values).execute());
}

test.each([
  ["parts of two days", "2026-03-01T23:00:00Z", "2026-03-02T01:00:00Z"],
  ["whole days", "2026-03-01T00:00:00Z", "2026-03-03T00:00:00Z"],
  ["part of one day", "2026-03-02T00:00:00Z", "2026-03-02T12:00:00Z"],
  ["whole days and parts at both ends", "2026-02-27T12:00:00Z", "2026-03-02T13:00:00Z"],
  ["no hour", "2026-03-02T12:00:01Z", "2026-03-02T12:30:00Z"],
])("the busiest keys and consumers of a period have exact counts: %s", async (_name, start, end) => {
  await clear();
  const keyIds = createIds("issuedKey", 30);
  const consumerIds = createIds("consumer", 4);
  await addConsumers(consumerIds);
  const usage = createUsage(keyIds, consumerIds);
  await write({ usage });
  const [from, to] = [new Date(start), new Date(end)];
  const inPeriod = usage.filter(({ hour }) => hour >= from && hour < to);
  const expected = (idOf: (row: IssuedKeyHourUsage) => string | null) => {
    const counts = new Map<string, { count: number; useCount: number }>();
    for (const row of inPeriod) {
      const id = idOf(row);
      if (id === null) continue;
      const known = counts.get(id) ?? { count: 0, useCount: 0 };
      const useCount = known.useCount + (row.outcome === "VALID" ? row.count : 0);
      counts.set(id, { count: known.count + row.count, useCount });
    }
    return [...counts]
      .map(([id, counts]) => ({ id, ...counts }))
      .toSorted((one, other) => other.count - one.count || (one.id < other.id ? -1 : 1))
      .slice(0, 5);
  };
  const period = { keyspaceIds: [keyspaceId], from, to, limit: 5 };
  const keys = await read((trx) => listBusiestIssuedKeys(trx, scope, period));
  expect(keys).toEqual(
    expected(({ keyId }) => keyId).map((row) => ({ ...row, keyspaceId, name: null, start: null })),
  );
  const consumers = await read((trx) => listBusiestConsumers(trx, scope, period));
  expect(consumers).toEqual(
    expected(({ consumerId }) => consumerId).map((row) => ({
      ...row,
      keyspaceId,
      externalId: `consumer ${row.id}`,
    })),
  );
});

const [staging, foreign] = createIds("keyspace", 2) as [KeyspaceId, KeyspaceId]; // As many as were created.
const [acme, globex] = createIds("issuedKey", 2) as [IssuedKeyId, IssuedKeyId]; // As many as were created.
/** Two days in a time zone two hours ahead of UTC. */
const [from, to] = [new Date("2026-02-28T22:00:00Z"), new Date("2026-03-02T22:00:00Z")];

/** Writes the verifications of two keys in two keyspaces of the workspace, and of one in another workspace. */
async function writeSeveralKeyspaces(): Promise<void> {
  const early = new Date("2026-03-01T22:00:00Z");
  await write({
    usage: [
      used(acme, { count: 5 }),
      used(acme, { hour: early, count: 3 }),
      used(acme, { hour: new Date(early.getTime() - 1_000 * 3_600), count: 2 }),
      used(acme, { outcome: "EXPIRED", count: 4 }),
      used(globex, { keyspaceId: staging, count: 20 }),
      used(acme, { hour: to, count: 1_000 }),
      used(createId("issuedKey"), { workspaceId: createId("workspace"), keyspaceId: foreign, count: 500 }),
    ],
  });
}

test("chooses the busiest keys among all keyspaces", async () => {
  await clear();
  await writeSeveralKeyspaces();
  const list = (keyspaceIds: readonly KeyspaceId[]) =>
    read((trx) => listBusiestIssuedKeys(trx, scope, { keyspaceIds, from, to, limit: 5 }));
  expect(await list([keyspaceId, staging, foreign])).toMatchObject([
    { id: globex, keyspaceId: staging, count: 20 },
    { id: acme, keyspaceId, count: 14, useCount: 10 },
  ]);
  expect(await list([keyspaceId])).toMatchObject([{ id: acme }]);
  expect(await list([])).toEqual([]);
});

test("adds up only as many candidates as the caller wants, those with the most verifications", async () => {
  await clear();
  await writeSeveralKeyspaces();
  const query = { keyspaceIds: [keyspaceId, staging], from, to, limit: 5 };
  const list = (candidates: Candidates) =>
    read((trx) => listBusiestIssuedKeys(trx, scope, { ...query, candidates }));
  // On the whole days, it has more than the other one.
  expect(await list({ rows: 100, subjects: 1 })).toMatchObject([{ id: acme }]);
  expect(await list({ rows: 100, subjects: 2 })).toMatchObject([{ id: globex }, { id: acme }]);
});

test("reads few rows of many keys, by indexes", async () => {
  await clear();
  const lastDay = new Date("2026-03-20T00:00:00Z");
  // Each statement has time for about as many rows.
  for (const day of [0, 1, 2]) {
    await sql`
      insert into keyspace_usage_days
        (workspace_id, keyspace_id, subject_id, is_consumer, day, count, use_count, magnitude)
      select ${workspaceId}, ${keyspaceId}, md5(key::text)::uuid, false, ${lastDay}::date - ${day}::integer, key, key,
        floor(log(2, key))
      from generate_series(1, 12000) key`.execute(database.owner);
  }
  await sql`
    insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select ${workspaceId}, md5(key::text)::uuid, ${lastDay}::timestamptz + make_interval(hours => hour), 'VALID', 1
    from generate_series(1, 6000) key cross join generate_series(0, 1) hour`.execute(database.owner);
  await sql`analyze keyspace_usage_days, keyspace_usage_hours`.execute(database.owner);
  const from = new Date("2026-03-18T12:00:00Z");
  const to = new Date("2026-03-20T02:00:00Z");
  const listBusiest = (trx: WorkspaceTrx) =>
    listBusiestIssuedKeys(trx, scope, { keyspaceIds: [keyspaceId], from, to, limit: 10 });
  // One whole day. The hours are those of other keys.
  expect((await read(listBusiest)).map(({ count }) => count)).toEqual(
    Array.from({ length: 10 }, (_, place) => 12_000 - place),
  );
  const busiest = await measure(listBusiest);
  expect(busiest.scans).toBe(0);
  // 1,000 candidates for each day, then one whole day and two hours of 1,000 of them.
  expect(busiest.rows).toBeGreaterThan(0);
  expect(busiest.rows).toBeLessThanOrEqual(1_000 * 3 + 1_000 * (1 + 2));
});

test("reads a bounded number of rows for the busiest keys of many keyspaces and days", async () => {
  await clear();
  const keyspaceIds = Array.from({ length: 50 }, () => createId("keyspace"));
  // Two keys of each keyspace on each of 40 days, and one key that is busier than all others.
  const busiest = createId("issuedKey");
  await sql`
    insert into keyspace_usage_days
      (workspace_id, keyspace_id, subject_id, is_consumer, day, count, use_count, magnitude)
    select ${workspaceId}::uuid, keyspace, md5(keyspace::text || key)::uuid, false, date '2026-05-01' + day, key, 0, key
    from unnest(${keyspaceIds}::uuid[]) keyspace
    cross join generate_series(0, 39) day cross join generate_series(1, 2) key
    union all
    select ${workspaceId}::uuid, ${keyspaceIds[7]}::uuid, ${busiest}::uuid, false, date '2026-05-01' + day, 100, 0, 6
    from generate_series(0, 39) day`.execute(database.owner);
  await sql`analyze keyspace_usage_days`.execute(database.owner);
  const [from, to] = [new Date("2026-05-01T00:00:00Z"), new Date("2026-06-10T00:00:00Z")];
  const query = { keyspaceIds, from, to, limit: 5, candidates: { rows: 200, subjects: 10 } };
  const list = (trx: WorkspaceTrx) => listBusiestIssuedKeys(trx, scope, query);
  const [first, second] = await read(list);
  expect([first?.id, first?.count, second?.count]).toEqual([busiest, 40 * 100, 40 * 2]);
  // 2,000 days of keyspaces would be 2,000 rows. Every tenth day is read, then all days of 10 candidates.
  const { scans, rows } = await measure(list);
  expect(scans).toBe(0);
  expect(rows).toBeLessThanOrEqual(200 + 10 * 40);
});

test("adds up fewer candidates for a longer period", async () => {
  await clear();
  const keyspaceId = createId("keyspace");
  await sql`
    insert into keyspace_usage_days
      (workspace_id, keyspace_id, subject_id, is_consumer, day, count, use_count, magnitude)
    select ${workspaceId}, ${keyspaceId}, gen_random_uuid(), false, date '2026-05-01' + day, 1, 1, 0
    from generate_series(0, 2) day, generate_series(1, 100)`.execute(database.owner);
  const to = new Date("2026-05-04T00:00:00Z");
  const listOf = (days: number) => (trx: WorkspaceTrx) => {
    const from = new Date(to.getTime() - days * 86_400_000);
    return listBusiestIssuedKeys(trx, scope, { keyspaceIds: [keyspaceId], from, to, limit: 5 });
  };
  expect((await measure(listOf(30))).rows).toBe(300 + 300);
  // In 1,000 days, a candidate can have 1,000 rows, and at most 200,000 are added up.
  expect((await measure(listOf(1_000))).rows).toBe(300 + 200);
  // 100,000 rows of candidates are 50 per day.
  expect((await measure(listOf(2_000))).rows).toBe(3 * 50 + 100);
});
