import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { listBusiestTags } from "./busiest-subjects.ts";
import { createId, type IssuedKeyId, type KeyspaceId } from "./ids.ts";
import {
  createIds,
  createUsage,
  hour,
  keyspaceId,
  openNode,
  scope,
  tagged,
  used,
  workspaceId,
} from "./keyspace-history.test-kit.ts";
import { listIssuedKeyRejections } from "./keyspace-usage.ts";
import { createEmptyDatabase } from "./migrate.test-kit.ts";
import { migrate } from "./migrate.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import { pruneKeyHistory } from "./prune-key-history.ts";
import type { Db } from "./schema.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceTrx } from "./workspace-scope.ts";
import {
  type IssuedKeyHourUsage,
  type KeyspaceHistory,
  maxTagsPerHour,
  otherTags,
  writeKeyspaceHistory,
} from "./write-keyspace-history.ts";

// What nodes write about the verifications of issued keys.

let database: TestDatabase;
/** Two nodes. */
let nodes: readonly [Db, Db];
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  nodes = [openNode(database), openNode(database)];
});
afterAll(async () => {
  for (const node of nodes) await node.destroy();
  await database.drop();
});

async function write(history: Partial<KeyspaceHistory>, node = nodes[0]): Promise<void> {
  await writeKeyspaceHistory(node, { usage: [], tags: [], rejections: [], ...history });
}

async function clear(): Promise<void> {
  await sql`
    truncate keyspace_usage_hours, keyspace_usage_days, keyspace_tag_hours, issued_key_rejections`.execute(
    database.owner,
  );
}

const otherScope = mintWorkspaceScope(createId("workspace"));

function read<Result>(work: (trx: WorkspaceTrx) => Promise<Result>): Promise<Result> {
  return inWorkspace(database.db, scope, work);
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
  const withoutKey = used(createId("issuedKey"), { keyId: null, count: 3 });
  const usage = [...createUsage(keyIds, createIds("consumer", 3)), withoutKey];
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

test("the migration that counts workspaces adds up the hours of their keyspaces", async () => {
  const otherWorkspace = createId("workspace");
  const [early, late] = [new Date("2026-03-01T22:00:00Z"), hour];
  const { connection, db } = await createEmptyDatabase();
  await migrate(connection, { upTo: "0050-starts-of-former-secrets" });
  await sql`
    insert into workspaces (id, name, slug)
    select id, 'Team', id from unnest(${[workspaceId, otherWorkspace]}::uuid[]) id`.execute(db);
  await sql`
    insert into keyspaces (workspace_id, id, name, prefix)
    select workspace, keyspace, 'API', 'acme'
    from unnest(${[workspaceId, workspaceId, otherWorkspace]}::uuid[], ${createIds("keyspace", 3)}::uuid[])
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
