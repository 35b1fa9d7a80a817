import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createId, type IssuedKeyId, type KeyspaceId, type WorkspaceId } from "./ids.ts";
import {
  createIds,
  createUsage,
  keyspaceId,
  openNode,
  outcomes,
  scope,
  tagged,
  used,
  workspaceId,
} from "./keyspace-history.test-kit.ts";
import {
  readCountsOfSubjects,
  readCountsOfTags,
  readOutcomesOfSubjects,
  readUsageOfSubjects,
} from "./keyspace-usage.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import type { Db } from "./schema.ts";
import { countReads, type Reads } from "./testing/count-reads.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceTrx } from "./workspace-scope.ts";
import { writeKeyspaceHistory } from "./write-keyspace-history.ts";

// The verifications of keyspaces, keys and tags, in buckets.

let database: TestDatabase;
let node: Db;
const otherWorkspace = createId("workspace");
const [staging, foreign] = [createId("keyspace"), createId("keyspace")];
const [acme, globex] = [createId("issuedKey"), createId("issuedKey")];
const [early, late] = [new Date("2026-03-01T22:00:00Z"), new Date("2026-03-02T12:00:00Z")];
/** Days in a time zone two hours ahead of UTC. */
const days = [new Date("2026-02-28T22:00:00Z"), new Date("2026-03-01T22:00:00Z")] as const;
const buckets = { starts: days, to: new Date("2026-03-02T22:00:00Z") };

beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  node = openNode(database);
  await writeKeyspaceHistory(node, {
    usage: [
      used(acme, { count: 5 }),
      used(acme, { hour: early, count: 3 }),
      used(acme, { hour: new Date(early.getTime() - 1_000 * 3_600), count: 2 }),
      used(acme, { outcome: "EXPIRED", count: 4 }),
      used(globex, { keyspaceId: staging, count: 20 }),
      used(acme, { hour: buckets.to, count: 1_000 }),
      used(createId("issuedKey"), { workspaceId: otherWorkspace, keyspaceId: foreign, count: 500 }),
    ],
    tags: [
      tagged("eu", { hour: early }),
      tagged("eu", { count: 2 }),
      tagged("eu", { outcome: "EXPIRED", count: 3 }),
      tagged("us"),
      tagged("eu", { keyspaceId: staging }),
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
  expect(await readOf([keyspaceId, staging, foreign])).toEqual(all);
  expect(all).toEqual([
    { startsAt: days[0], outcome: "VALID", count: 2 },
    { startsAt: days[1], outcome: "EXPIRED", count: 4 },
    { startsAt: days[1], outcome: "VALID", count: 28 },
  ]);
  expect(await readOf([staging])).toEqual([{ startsAt: days[1], outcome: "VALID", count: 20 }]);
  expect(await readOf([foreign, otherWorkspace])).toEqual([]);
});

test("reads the outcomes of a key and of a keyspace in buckets", async () => {
  const keyspaceId = createId("keyspace");
  // In a workspace of its own, so that it changes no counts of the workspace.
  const ownScope = mintWorkspaceScope(createId("workspace"));
  const [one, other] = createIds("issuedKey", 2) as [IssuedKeyId, IssuedKeyId]; // As many as were created.
  const usage = createUsage([one, other], []).map((row) => ({
    ...row,
    workspaceId: ownScope.workspaceId,
    keyspaceId,
  }));
  await writeKeyspaceHistory(node, { usage, tags: [], rejections: [] });
  const starts = [new Date("2026-03-01T23:00:00Z"), new Date("2026-03-02T00:00:00Z")];
  const buckets = { starts, to: new Date("2026-03-02T12:00:00Z") };
  const readOf = (subjectId: IssuedKeyId | KeyspaceId) =>
    inWorkspace(database.db, ownScope, (trx) =>
      readUsageOfSubjects(trx, ownScope, { subjectIds: [subjectId], buckets }),
    );
  expect(await readOf(other)).toEqual(
    starts.flatMap((startsAt) => outcomes.toSorted().map((outcome) => ({ startsAt, outcome, count: 2 }))),
  );
  expect(await readOf(keyspaceId)).toEqual(
    starts.flatMap((startsAt) => outcomes.toSorted().map((outcome) => ({ startsAt, outcome, count: 3 }))),
  );
  const inOther = await read((trx) =>
    readUsageOfSubjects(trx, ownScope, { subjectIds: [keyspaceId], buckets }),
  );
  expect(inOther).toEqual([]);
});

test("reads the outcomes and the counts of each subject", async () => {
  const subjects = { subjectIds: [keyspaceId, foreign], buckets };
  expect(await read((trx) => readOutcomesOfSubjects(trx, scope, subjects))).toEqual([
    { subjectId: keyspaceId, startsAt: days[0], outcome: "VALID", count: 2 },
    { subjectId: keyspaceId, startsAt: days[1], outcome: "EXPIRED", count: 4 },
    { subjectId: keyspaceId, startsAt: days[1], outcome: "VALID", count: 8 },
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
  const tags = { keyspaceId, tags: ["eu"], buckets };
  expect(await read((trx) => readCountsOfTags(trx, scope, tags))).toEqual([
    { tag: "eu", startsAt: days[1], count: 6, useCount: 3 },
  ]);
});

function measure(work: (trx: WorkspaceTrx) => Promise<unknown>): Promise<Reads> {
  return read((trx) => countReads(trx, ["keyspace_usage_hours", "keyspace_usage_days"], () => work(trx)));
}

test("reads only the hours of the subjects, by an index", async () => {
  await sql`
    insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select ${workspaceId}, md5(key::text)::uuid, ${late}::timestamptz, 'VALID', 1
    from generate_series(1, 20000) key`.execute(database.owner);
  await sql`analyze keyspace_usage_hours`.execute(database.owner);
  for (const [work, rows] of [
    [
      (trx: WorkspaceTrx) => readUsageOfSubjects(trx, scope, { subjectIds: [keyspaceId, staging], buckets }),
      5,
    ],
    // One row per hour and outcome, however many keyspaces it has.
    [(trx: WorkspaceTrx) => readUsageOfSubjects(trx, scope, { subjectIds: [workspaceId], buckets }), 4],
    [(trx: WorkspaceTrx) => readCountsOfSubjects(trx, scope, { subjectIds: [acme, globex], buckets }), 5],
  ] as const) {
    expect(await measure(work)).toMatchObject({ scans: 0, rows });
  }
});
