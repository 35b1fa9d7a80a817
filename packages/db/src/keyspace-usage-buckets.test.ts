import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { type Candidates, listBusiestIssuedKeys } from "./busiest-subjects.ts";
import { openDatabase } from "./connection.ts";
import { createId, type IssuedKeyId, type KeyspaceId, type WorkspaceId } from "./ids.ts";
import {
  readCountsOfSubjects,
  readCountsOfTags,
  readOutcomesOfSubjects,
  readUsageOfSubjects,
} from "./keyspace-usage.ts";
import { createEmptyDatabase } from "./migrate.test-kit.ts";
import { migrate } from "./migrate.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import type { Db } from "./schema.ts";
import { countReads, type Reads } from "./testing/count-reads.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceTrx } from "./workspace-scope.ts";
import { type IssuedKeyHourUsage, writeKeyspaceHistory } from "./write-keyspace-history.ts";

// The verifications of several keyspaces, keys and tags, in buckets.

let database: TestDatabase;
let node: Db;
const workspaceId = createId("workspace");
const scope = mintWorkspaceScope(workspaceId);
const otherWorkspace = createId("workspace");
const [production, staging, foreign] = [createId("keyspace"), createId("keyspace"), createId("keyspace")];
const [acme, globex] = [createId("issuedKey"), createId("issuedKey")];
const [early, late] = [new Date("2026-03-01T22:00:00Z"), new Date("2026-03-02T12:00:00Z")];
/** Days in a time zone two hours ahead of UTC. */
const days = [new Date("2026-02-28T22:00:00Z"), new Date("2026-03-01T22:00:00Z")] as const;
const buckets = { starts: days, to: new Date("2026-03-02T22:00:00Z") };

beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  node = openDatabase(database.connection, {
    role: "latchkey_admission",
    applicationName: "statistics",
  });
  const used = (change: Partial<IssuedKeyHourUsage>): IssuedKeyHourUsage => ({
    workspaceId,
    keyspaceId: production,
    keyId: acme,
    consumerId: null,
    hour: late,
    outcome: "VALID",
    count: 1,
    ...change,
  });
  const tagged = { workspaceId, keyspaceId: production, tag: "eu", count: 1 };
  await writeKeyspaceHistory(node, {
    usage: [
      used({ count: 5 }),
      used({ hour: early, count: 3 }),
      used({ hour: new Date(early.getTime() - 1_000 * 3_600), count: 2 }),
      used({ outcome: "EXPIRED", count: 4 }),
      used({ keyspaceId: staging, keyId: globex, count: 20 }),
      used({ hour: buckets.to, count: 1_000 }),
      used({ workspaceId: otherWorkspace, keyspaceId: foreign, keyId: createId("issuedKey"), count: 500 }),
    ],
    tags: [
      { ...tagged, hour: early, outcome: "VALID" },
      { ...tagged, hour: late, outcome: "VALID", count: 2 },
      { ...tagged, hour: late, outcome: "EXPIRED", count: 3 },
      { ...tagged, hour: late, outcome: "VALID", tag: "us" },
      { ...tagged, hour: late, outcome: "VALID", keyspaceId: staging },
    ],
    rejections: [],
  });
});
afterAll(async () => {
  await node.destroy();
  await database.drop();
});

function read<Result>(work: (trx: WorkspaceTrx) => Promise<Result>): Promise<Result> {
  return inWorkspace(database.db, scope, work);
}

test("adds up the outcomes of a workspace and of keyspaces, without those of other workspaces", async () => {
  const readOf = (subjectIds: readonly (KeyspaceId | WorkspaceId)[]) =>
    read((trx) => readUsageOfSubjects(trx, scope, { subjectIds, buckets }));
  const all = await readOf([workspaceId]);
  expect(await readOf([production, staging, foreign])).toEqual(all);
  expect(all).toEqual([
    { startsAt: days[0], outcome: "VALID", count: 2 },
    { startsAt: days[1], outcome: "EXPIRED", count: 4 },
    { startsAt: days[1], outcome: "VALID", count: 28 },
  ]);
  expect(await readOf([staging])).toEqual([{ startsAt: days[1], outcome: "VALID", count: 20 }]);
  expect(await readOf([foreign, otherWorkspace])).toEqual([]);
});

test("the migration that counts workspaces adds up the hours of their keyspaces", async () => {
  const { connection, db } = await createEmptyDatabase();
  await migrate(connection, { upTo: "0050-starts-of-former-secrets" });
  await sql`
    insert into workspaces (id, name, slug)
    select id, 'Team', id from unnest(${[workspaceId, otherWorkspace]}::uuid[]) id`.execute(db);
  await sql`
    insert into keyspaces (workspace_id, id, name, prefix)
    select workspace, keyspace, 'API', 'acme'
    from unnest(${[workspaceId, workspaceId, otherWorkspace]}::uuid[], ${[production, staging, foreign]}::uuid[])
      as added (workspace, keyspace)`.execute(db);
  await sql`
    insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select workspace_id, subject, hour, outcome, 2 from keyspaces
    cross join unnest(array[id, gen_random_uuid()]) subject
    cross join unnest(${[early, late]}::timestamptz[]) hour
    cross join unnest(array['VALID', 'EXPIRED']) outcome`.execute(db);
  await migrate(connection);
  const { rows } = await sql`
    select subject_id as id, hour, outcome, count from keyspace_usage_hours where subject_id = workspace_id
    order by count desc, hour, outcome`.execute(db);
  expect(rows).toEqual(
    [workspaceId, otherWorkspace].flatMap((id) =>
      [early, late].flatMap((hour) =>
        ["EXPIRED", "VALID"].map((outcome) => ({ id, hour, outcome, count: id === workspaceId ? 4 : 2 })),
      ),
    ),
  );
});

test("reads the outcomes and the counts of each subject", async () => {
  const subjects = { subjectIds: [production, foreign], buckets };
  expect(await read((trx) => readOutcomesOfSubjects(trx, scope, subjects))).toEqual([
    { subjectId: production, startsAt: days[0], outcome: "VALID", count: 2 },
    { subjectId: production, startsAt: days[1], outcome: "EXPIRED", count: 4 },
    { subjectId: production, startsAt: days[1], outcome: "VALID", count: 8 },
  ]);
  const keys = { subjectIds: [acme, globex], buckets };
  const counts = await read((trx) => readCountsOfSubjects(trx, scope, keys));
  const of = (id: IssuedKeyId) =>
    counts
      .filter(({ subjectId }) => subjectId === id)
      .map(({ startsAt, count, useCount }) => [startsAt, count, useCount]);
  expect(of(acme)).toEqual([
    [days[0], 2, 2],
    [days[1], 12, 8],
  ]);
  expect(of(globex)).toEqual([[days[1], 20, 20]]);
});

test("reads whole days in UTC from the counts of days", async () => {
  const midnights = { starts: [new Date("2026-03-01"), new Date("2026-03-02")], to: new Date("2026-03-03") };
  const list = () =>
    read((trx) => readCountsOfSubjects(trx, scope, { subjectIds: [acme, globex], buckets: midnights }));
  const expected = [
    [acme, midnights.starts[0], 5, 5],
    [acme, midnights.starts[1], 1_009, 1_005],
    [globex, midnights.starts[1], 20, 20],
  ];
  const rowsOf = (rows: Awaited<ReturnType<typeof list>>) =>
    rows.map(({ subjectId, startsAt, count, useCount }) => [subjectId, startsAt, count, useCount]);
  expect(rowsOf(await list())).toEqual(
    expected.toSorted(([one = ""], [other = ""]) => (one < other ? -1 : 1)),
  );
  await sql`update keyspace_usage_days set count = count + 1 where subject_id = ${globex}`.execute(
    database.owner,
  );
  expect(rowsOf(await list())).toContainEqual([globex, midnights.starts[1], 21, 20]);
});

test("reads the counts of tags of one keyspace", async () => {
  const tags = { keyspaceId: production, tags: ["eu"], buckets };
  expect(await read((trx) => readCountsOfTags(trx, scope, tags))).toEqual([
    { tag: "eu", startsAt: days[1], count: 6, useCount: 3 },
  ]);
});

test("chooses the busiest keys among all keyspaces", async () => {
  const [from, to] = [days[0], buckets.to];
  const list = (keyspaceIds: readonly KeyspaceId[]) =>
    read((trx) => listBusiestIssuedKeys(trx, scope, { keyspaceIds, from, to, limit: 5 }));
  expect(await list([production, staging, foreign])).toMatchObject([
    { id: globex, keyspaceId: staging, count: 20 },
    { id: acme, keyspaceId: production, count: 14, useCount: 10 },
  ]);
  expect(await list([production])).toMatchObject([{ id: acme }]);
  expect(await list([])).toEqual([]);
});

test("adds up only as many candidates as the caller wants, those with the most verifications", async () => {
  const [from, to] = [days[0], buckets.to];
  const query = { keyspaceIds: [production, staging], from, to, limit: 5 };
  const list = (candidates: Candidates) =>
    read((trx) => listBusiestIssuedKeys(trx, scope, { ...query, candidates }));
  // On the whole days, it has more than the other one.
  expect(await list({ rows: 100, subjects: 1 })).toMatchObject([{ id: acme }]);
  expect(await list({ rows: 100, subjects: 2 })).toMatchObject([{ id: globex }, { id: acme }]);
});

function measure(work: (trx: WorkspaceTrx) => Promise<unknown>): Promise<Reads> {
  return read((trx) => countReads(trx, ["keyspace_usage_hours", "keyspace_usage_days"], () => work(trx)));
}

test("reads a bounded number of rows for the busiest keys of many keyspaces and days", async () => {
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

test("reads only the hours of the subjects, by an index", async () => {
  await sql`
    insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select ${workspaceId}, md5(key::text)::uuid, ${late}::timestamptz, 'VALID', 1
    from generate_series(1, 20000) key`.execute(database.owner);
  await sql`analyze keyspace_usage_hours`.execute(database.owner);
  for (const [work, rows] of [
    [
      (trx: WorkspaceTrx) => readUsageOfSubjects(trx, scope, { subjectIds: [production, staging], buckets }),
      5,
    ],
    // One row per hour and outcome, however many keyspaces it has.
    [(trx: WorkspaceTrx) => readUsageOfSubjects(trx, scope, { subjectIds: [workspaceId], buckets }), 4],
    [(trx: WorkspaceTrx) => readCountsOfSubjects(trx, scope, { subjectIds: [acme, globex], buckets }), 5],
  ] as const) {
    expect(await measure(work)).toMatchObject({ scans: 0, rows });
  }
});
