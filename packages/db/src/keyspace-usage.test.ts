import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { listBusiestConsumers, listBusiestIssuedKeys, listBusiestTags } from "./busiest-subjects.ts";
import { openDatabase } from "./connection.ts";
import { type ConsumerId, createId, type IssuedKeyId, type KeyspaceId } from "./ids.ts";
import { listIssuedKeyRejections, readCountsOfSubjects, readUsageOfSubjects } from "./keyspace-usage.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import { pruneKeyHistory } from "./prune-key-history.ts";
import type { Db } from "./schema.ts";
import { countReads } from "./testing/count-reads.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceTrx } from "./workspace-scope.ts";
import {
  type IssuedKeyHourUsage,
  type KeyspaceHistory,
  maxTagsPerHour,
  otherTags,
  writeKeyspaceHistory,
} from "./write-keyspace-history.ts";

// The verifications of issued keys, by key, consumer, keyspace and tag.

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

function openNode(): Db {
  return openDatabase(database.connection, { role: "latchkey_admission", applicationName: "statistics" });
}

async function write(history: Partial<KeyspaceHistory>, node = nodes[0]): Promise<void> {
  await writeKeyspaceHistory(node, { usage: [], tags: [], rejections: [], ...history });
}

async function clear(): Promise<void> {
  await sql`
    truncate keyspace_usage_hours, keyspace_usage_days, keyspace_tag_hours, issued_key_rejections`.execute(
    database.owner,
  );
}

const workspaceId = createId("workspace");
const scope = mintWorkspaceScope(workspaceId);
const otherScope = mintWorkspaceScope(createId("workspace"));
const keyspaceId = createId("keyspace");
const hour = new Date("2026-03-02T12:00:00Z");

function read<Result>(work: (trx: WorkspaceTrx) => Promise<Result>): Promise<Result> {
  return inWorkspace(database.db, scope, work);
}

function used(keyId: IssuedKeyId, change: Partial<IssuedKeyHourUsage> = {}): IssuedKeyHourUsage {
  return { workspaceId, keyspaceId, keyId, consumerId: null, hour, outcome: "VALID", count: 1, ...change };
}

function createIds<Kind extends "issuedKey" | "consumer">(kind: Kind, count: number) {
  return Array.from({ length: count }, () => createId(kind));
}

const hours = [
  "2026-03-01T22:00:00Z",
  "2026-03-01T23:00:00Z",
  "2026-03-02T00:00:00Z",
  "2026-03-02T12:00:00Z",
].map((text) => new Date(text));
const outcomes = ["VALID", "CHECKED", "RATE_LIMITED"] as const;

/** One verification per key, hour and outcome, and more of keys that come later. */
function createUsage(
  keyIds: readonly IssuedKeyId[],
  consumerIds: readonly ConsumerId[],
): IssuedKeyHourUsage[] {
  return keyIds.flatMap((keyId, index) =>
    hours.flatMap((hour) =>
      outcomes.map((outcome) => {
        const consumerId = consumerIds[index % (consumerIds.length + 1)] ?? null;
        return used(keyId, { consumerId, hour, outcome, count: index + 1 });
      }),
    ),
  );
}

/** What differs between the hours of keys and everything that is added up from them; nothing if all is complete. */
async function findDifferences(usage: readonly IssuedKeyHourUsage[]) {
  const { rows } = await sql`
    with usage as (
      select * from jsonb_to_recordset(${JSON.stringify(usage)}::jsonb)
        as item ("workspaceId" uuid, "keyspaceId" uuid, "keyId" uuid, "consumerId" uuid, hour timestamptz, outcome text, count bigint)
    ),
    expected_hours as (
      select subject, hour, outcome, sum(count) from usage
      cross join lateral unnest(array["keyId", "consumerId", "keyspaceId", "workspaceId"]) subject
      where subject is not null group by 1, 2, 3
    ),
    expected_days as (
      select subject, subject <> "keyId", (hour at time zone 'UTC')::date, sum(count),
        sum(count) filter (where outcome = 'VALID'), floor(log(2, sum(count)))
      from usage cross join lateral unnest(array["keyId", "consumerId"]) subject
      where subject is not null group by 1, 2, 3
    ),
    hours as (select subject_id, hour, outcome, count from keyspace_usage_hours),
    days as (select subject_id, is_consumer, day, count, use_count, magnitude from keyspace_usage_days)
    (select 'missing hour', row_to_json(x)::text from (select * from expected_hours except select * from hours) x)
    union all
    (select 'surplus hour', row_to_json(x)::text from (select * from hours except select * from expected_hours) x)
    union all
    (select 'missing day', row_to_json(x)::text from (select * from expected_days except select * from days) x)
    union all
    (select 'surplus day', row_to_json(x)::text from (select * from days except select * from expected_days) x)`.execute(
    database.owner,
  );
  return rows;
}

test("all counts match after concurrent writes of two nodes in opposite orders", async () => {
  await clear();
  const keyIds = createIds("issuedKey", 20);
  const usage = createUsage(keyIds, createIds("consumer", 3));
  const rounds = 5;
  for (let round = 0; round < rounds; round += 1)
    await Promise.all([write({ usage }), write({ usage: usage.toReversed() }, nodes[1])]);
  const total = usage.map((row) => ({ ...row, count: row.count * rounds * 2 }));
  expect(await findDifferences(total)).toEqual([]);
});

test("nothing of a write that fails is stored", async () => {
  await clear();
  const keyId = createId("issuedKey");
  // Postgres rejects NUL.
  const tags = [{ workspaceId, keyspaceId, hour, tag: "\0", outcome: "VALID", count: 1 }];
  await expect(write({ usage: [used(keyId)], tags })).rejects.toThrow();
  expect(await findDifferences([])).toEqual([]);
});

test("reads the outcomes of a key and of a keyspace in buckets", async () => {
  await clear();
  const [one, other] = createIds("issuedKey", 2) as [IssuedKeyId, IssuedKeyId]; // As many as were created.
  await write({ usage: createUsage([one, other], []) });
  const starts = [new Date("2026-03-01T23:00:00Z"), new Date("2026-03-02T00:00:00Z")];
  const buckets = { starts, to: new Date("2026-03-02T12:00:00Z") };
  const readOf = (subjectId: IssuedKeyId | KeyspaceId) =>
    read((trx) => readUsageOfSubjects(trx, scope, { subjectIds: [subjectId], buckets }));
  expect(await readOf(other)).toEqual(
    starts.flatMap((startsAt) => outcomes.toSorted().map((outcome) => ({ startsAt, outcome, count: 2 }))),
  );
  expect(await readOf(keyspaceId)).toEqual(
    starts.flatMap((startsAt) => outcomes.toSorted().map((outcome) => ({ startsAt, outcome, count: 3 }))),
  );
  const inOther = await inWorkspace(database.db, otherScope, (trx) =>
    readUsageOfSubjects(trx, scope, { subjectIds: [keyspaceId], buckets }),
  );
  expect(inOther).toEqual([]);
});

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

function tagged(tag: string, change: Partial<KeyspaceHistory["tags"][number]> = {}) {
  return { workspaceId, keyspaceId, hour, tag, outcome: "VALID", count: 1, ...change };
}

test("counts at most 100 tags of a keyspace and hour by name, and the others together", async () => {
  await clear();
  const first = Array.from({ length: 90 }, (_, index) => tagged(`a${index}`));
  await write({ tags: first });
  const later = Array.from({ length: 30 }, (_, index) => tagged(`b${index}`, { count: 2 }));
  await write({ tags: [...later, ...first, tagged(otherTags, { outcome: "DISABLED" })] });
  const period = { keyspaceId, from: hour, to: new Date(hour.getTime() + 1) };
  const tags = await read((trx) => listBusiestTags(trx, scope, { ...period, limit: 1_000 }));
  expect(tags).toHaveLength(maxTagsPerHour + 1);
  expect(tags[0]).toEqual({ tag: otherTags, count: 20 * 2 + 1, useCount: 20 * 2 });
  expect(tags.slice(1).every(({ count, useCount }) => count === 2 && useCount === 2)).toBe(true);
  // There is room again in another hour and in another keyspace.
  const nextHour = new Date(hour.getTime() + 3_600_000);
  const otherKeyspace = createId("keyspace");
  await write({ tags: [tagged("c", { hour: nextHour }), tagged("c", { keyspaceId: otherKeyspace })] });
  const listed = (keyspaceId: KeyspaceId, from: Date) =>
    read((trx) =>
      listBusiestTags(trx, scope, { keyspaceId, from, to: new Date(from.getTime() + 1), limit: 10 }),
    );
  expect(await listed(keyspaceId, nextHour)).toEqual([{ tag: "c", count: 1, useCount: 1 }]);
  expect(await listed(otherKeyspace, hour)).toEqual([{ tag: "c", count: 1, useCount: 1 }]);
});

/** A rejected verification, `place` milliseconds after the beginning of the hour. */
function rejected(keyId: IssuedKeyId, place: number): KeyspaceHistory["rejections"][number] {
  const occurredAt = new Date(hour.getTime() + place);
  const id = createId("keyRejection", occurredAt);
  return { workspaceId, keyId, id, occurredAt, code: "EXPIRED", address: null, requestId: `${place}` };
}

test("keeps the latest 100 rejected verifications of a key, which only its workspace sees", async () => {
  await clear();
  const [keyId, otherKey] = createIds("issuedKey", 2) as [IssuedKeyId, IssuedKeyId]; // As many as were created.
  await write({ rejections: [rejected(otherKey, 0)] });
  const rejections = Array.from({ length: 130 }, (_, index) => rejected(keyId, index));
  await write({ rejections: rejections.slice(0, 60) });
  await write({ rejections: rejections.slice(60) }, nodes[1]);
  const list = (keyId: IssuedKeyId) => read((trx) => listIssuedKeyRejections(trx, scope, keyId));
  const listed = await list(keyId);
  expect(listed.map(({ requestId }) => requestId)).toEqual(
    Array.from({ length: 100 }, (_, index) => `${129 - index}`),
  );
  expect(await list(otherKey)).toMatchObject([{ code: "EXPIRED", occurredAt: hour, address: null }]);
  const { count } = await database.owner
    .selectFrom("issued_key_rejections")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  expect(count).toBe(101);
  const inOther = await inWorkspace(database.db, otherScope, (trx) =>
    listIssuedKeyRejections(trx, scope, keyId),
  );
  expect(inOther).toEqual([]);
});

test("prunes what is older than history is kept", async () => {
  await clear();
  const keyId = createId("issuedKey");
  const ago = (days: number) => new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - days * 86_400_000);
  for (const days of [40, 32, 1]) {
    const hour = ago(days);
    await write({
      usage: [used(keyId, { hour, consumerId: createId("consumer") })],
      tags: [tagged("a", { hour })],
      rejections: [{ ...rejected(keyId, days), occurredAt: hour }],
    });
  }
  expect(await pruneKeyHistory(nodes[0], { keepDays: 30 })).toMatchObject({ hours: 2 * (4 + 2 + 1 + 1) });
  const { rows } = await sql<{ counts: number[] }>`
    select array[
      (select count(*) from keyspace_usage_hours), (select count(*) from keyspace_usage_days),
      (select count(*) from keyspace_tag_hours), (select count(*) from issued_key_rejections)
    ] as counts`.execute(database.owner);
  expect(rows[0]?.counts.map(Number)).toEqual([4, 2, 1, 1]);
});

test("reads few rows of many, by indexes", async () => {
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
  const measure = (work: (trx: WorkspaceTrx) => Promise<unknown>) =>
    read((trx) => countReads(trx, ["keyspace_usage_hours", "keyspace_usage_days"], () => work(trx)));
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
  const key = "c4ca4238-a0b9-2382-0dcc-509a6f75849b" as IssuedKeyId; // The first one.
  const buckets = { starts: [lastDay], to };
  const ofKey = await measure((trx) => readUsageOfSubjects(trx, scope, { subjectIds: [key], buckets }));
  expect(ofKey).toMatchObject({ scans: 0, rows: 2 });
  const series = await measure((trx) => readCountsOfSubjects(trx, scope, { subjectIds: [key], buckets }));
  expect(series).toMatchObject({ scans: 0, rows: 2 });
});
