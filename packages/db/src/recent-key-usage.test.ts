import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { createId, type IssuedKeyId, type KeyspaceId } from "./ids.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import { listRecentUsage, listUseOfKeyspaces, recentDays } from "./recent-key-usage.ts";
import { countReads } from "./testing/count-reads.ts";
import { passEndOf } from "./testing/pass-end-of.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace } from "./workspace-scope.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());
beforeEach(() => passEndOf("hour"));

const scope = mintWorkspaceScope(createId("workspace"));
const keyspaceId = createId("keyspace");

interface Verifications {
  readonly ids: readonly IssuedKeyId[];
  /** How long ago, in days in UTC. */
  readonly daysAgo: readonly number[];
  readonly count: number;
  readonly useCount: number;
  readonly keyspaceId?: string;
}

async function add({ ids, daysAgo, count, useCount, ...other }: Verifications): Promise<void> {
  await sql`
    insert into keyspace_usage_days
      (workspace_id, keyspace_id, subject_id, is_consumer, day, count, use_count, magnitude)
    select ${scope.workspaceId}, ${other.keyspaceId ?? keyspaceId}, subject_id, false,
      (now() at time zone 'UTC')::date - ago, ${count}, ${useCount}, floor(log(2, ${count}))
    from unnest(${ids}::uuid[]) subject_id, unnest(${daysAgo}::integer[]) ago`.execute(database.owner);
}

function createKeys<Count extends 1 | 2>(count: Count) {
  const ids = Array.from({ length: count }, () => createId("issuedKey"));
  return ids as unknown as Count extends 1 ? [IssuedKeyId] : [IssuedKeyId, IssuedKeyId]; // As many as were created.
}

function list(ids: readonly IssuedKeyId[], as = scope) {
  return inWorkspace(database.db, as, (trx) => listRecentUsage(trx, scope, { keyspaceId, ids }));
}

test("has the verifications of each of the last 30 days, and no others", async () => {
  const [one, unused] = createKeys(2);
  await add({ ids: [one], daysAgo: [0], count: 5, useCount: 3 });
  await add({ ids: [one], daysAgo: [recentDays - 1], count: 2, useCount: 2 });
  await add({ ids: [one], daysAgo: [-1, recentDays], count: 100, useCount: 100 });
  const days = [2, ...Array.from({ length: recentDays - 2 }, () => 0), 5];
  expect(await list([one, unused])).toEqual([{ id: one, count: 7, useCount: 5, days }]);
  expect(await list([unused])).toEqual([]);
});

test("leaves out keys of other keyspaces and workspaces", async () => {
  const [one, other] = createKeys(2);
  await add({ ids: [one], daysAgo: [0], count: 1, useCount: 1 });
  await add({ ids: [other], daysAgo: [0], count: 1, useCount: 1, keyspaceId: createId("keyspace") });
  expect((await list([one, other])).map(({ id }) => id)).toEqual([one]);
  expect(await list([one], mintWorkspaceScope(createId("workspace")))).toEqual([]);
});

test("reads the keys of a page with one statement", async () => {
  const ids = Array.from({ length: 100 }, () => createId("issuedKey"));
  await add({ ids, daysAgo: [0, 1], count: 1, useCount: 1 });
  let statements = 0;
  const counted = database.db.withPlugin({
    transformQuery: ({ node }) => {
      statements += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const listed = await inWorkspace(counted, scope, async (trx) => {
    statements = 0;
    return await listRecentUsage(trx, scope, { keyspaceId, ids });
  });
  expect([listed.length, statements]).toEqual([100, 1]);
});

test("reads only the days of the keys, by an index", async () => {
  const shown = Array.from({ length: 100 }, () => createId("issuedKey"));
  await add({ ids: shown, daysAgo: Array.from({ length: 60 }, (_, ago) => ago), count: 1, useCount: 1 });
  await sql`
    insert into keyspace_usage_days
      (workspace_id, keyspace_id, subject_id, is_consumer, day, count, use_count, magnitude)
    select ${scope.workspaceId}, ${keyspaceId}, gen_random_uuid(), false, (now() at time zone 'UTC')::date, 1, 1, 0
    from generate_series(1, 20000)`.execute(database.owner);
  await sql`analyze keyspace_usage_days`.execute(database.owner);
  const { result, ...reads } = await inWorkspace(database.db, scope, (trx) =>
    countReads(trx, ["keyspace_usage_days"], () => listRecentUsage(trx, scope, { keyspaceId, ids: shown })),
  );
  expect(result).toHaveLength(100);
  expect(reads).toEqual({ scans: 0, rows: 100 * recentDays });
});

test("keyspaces have their uses of the last 30 days and the hour of their last verification", async () => {
  const [one, other, unused] = [createId("keyspace"), createId("keyspace"), createId("keyspace")];
  const foreign = createId("keyspace");
  const verified = (subject: KeyspaceId, outcome: string, hoursAgo: readonly number[]) =>
    sql`
      insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
      select ${subject === foreign ? createId("workspace") : scope.workspaceId}, ${subject},
        date_trunc('hour', now()) - make_interval(hours => ago), ${outcome}, 3
      from unnest(${hoursAgo}::integer[]) ago`.execute(database.owner);
  const days = recentDays * 24;
  await verified(one, "VALID", [2, 5, days - 1, days + 1]);
  await verified(one, "EXPIRED", [1, 2]);
  await verified(other, "RATE_LIMITED", [days + 5]);
  await verified(foreign, "VALID", [1]);
  const { result: use, rows: readRows } = await inWorkspace(database.db, scope, async (trx) => {
    await sql`set local enable_seqscan = off`.execute(trx); // The table is small.
    return await countReads(trx, ["keyspace_usage_hours"], () =>
      listUseOfKeyspaces(trx, scope, [one, other, unused, foreign]),
    );
  });
  const { rows } = await sql<{ hour: Date }>`select date_trunc('hour', now()) as hour`.execute(
    database.owner,
  );
  const ago = (hours: number) => new Date(Number(rows[0]?.hour) - hours * 3_600_000);
  expect(use).toHaveLength(2);
  expect(use).toEqual(
    expect.arrayContaining([
      { id: one, useCount: 9, lastVerifiedAt: ago(1) },
      { id: other, useCount: 0, lastVerifiedAt: ago(days + 5) },
    ]),
  );
  // The latest row of each keyspace, and the rows that are added up.
  expect(readRows).toBe(2 + 3);
});
