import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { explainAll } from "./explain.test-kit.ts";
import { createId, type KeyspaceId } from "./ids.ts";
import { findLastUse, maxExaminedKeys } from "./keyspace-last-use.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace } from "./workspace-scope.ts";
import { writeKeyspaceHistory } from "./write-keyspace-history.ts";

let database: TestDatabase;
let keyspaceId: KeyspaceId;
const workspaceId = createId("workspace");
const scope = mintWorkspaceScope(workspaceId);

beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());
beforeEach(() => {
  keyspaceId = createId("keyspace");
});

/** Adds keys, each a second newer than the one before it. Returns their IDs. */
async function addKeys(count: number): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    with added as (
      insert into issued_keys (workspace_id, keyspace_id, id, hash, start, created_at)
      select ${workspaceId}, ${keyspaceId}, uuidv7(), sha256((${randomUUID()}::text || n)::bytea), 'acme_',
        timestamptz '2026-01-01' + n * interval '1 second'
      from generate_series(1, ${count}::integer) n
      returning id, created_at
    )
    select id from added order by created_at`.execute(database.owner);
  const ids = rows.map(({ id }) => id);
  await sql`insert into key_counters (key_id) select unnest(${ids}::uuid[])`.execute(database.owner);
  return ids;
}

async function use(id: string | undefined, at: string): Promise<void> {
  await sql`update key_counters set last_used_at = ${at} where key_id = ${id}`.execute(database.owner);
}

/** Records a use in `issued_key_uses`. */
async function useInRow(id: string | undefined, at: string): Promise<void> {
  await sql`
    insert into issued_key_uses (key_id, version, last_used_at) values (${id}, 1, ${at})
    on conflict (key_id) do update set last_used_at = excluded.last_used_at`.execute(database.owner);
}

/** Adds verifications of a key to the history of the keyspace. */
async function record(keyId: string | undefined, hour: string, outcome = "VALID"): Promise<void> {
  const usage = { workspaceId, keyspaceId, keyId: keyId as never, consumerId: null }; // The ID is that of a key.
  await writeKeyspaceHistory(database.owner, {
    usage: [{ ...usage, hour: new Date(hour), outcome, count: 1 }],
    tags: [],
    rejections: [],
  });
}

const find = async (keyCount: number) => {
  const { at, isPartial } = await inWorkspace(database.db, scope, (trx) =>
    findLastUse(trx, scope, { id: keyspaceId, keyCount }),
  );
  return [at?.toISOString() ?? null, isPartial];
};

test("is exact for up to 10,000 keys, and no use of a deleted key counts", async () => {
  const ids = await addKeys(3);
  expect(await find(3)).toEqual([null, false]);
  await use(ids[0], "2026-03-02T12:34:56.789Z");
  await use(ids[2], "2026-03-01T00:00:00Z");
  await record(randomUUID(), "2026-04-01T00:00:00Z");
  expect(await find(3)).toEqual(["2026-03-02T12:34:56.789Z", false]);
  await useInRow(ids[1], "2026-03-02T12:00:00Z");
  expect(await find(3)).toEqual(["2026-03-02T12:34:56.789Z", false]);
  await useInRow(ids[0], "2026-03-02T13:00:00Z");
  expect(await find(3)).toEqual(["2026-03-02T13:00:00.000Z", false]);
});

test("the use of an old key among many is found by the history", async () => {
  const ids = await addKeys(maxExaminedKeys + 2);
  const [oldest, second] = ids;
  const keyCount = ids.length;
  await use(ids.at(-1), "2026-03-01T00:00:00Z");
  await use(oldest, "2026-03-02T12:34:56.789Z");
  // It isn't one of the newest keys, and the history has no use.
  await record(second, "2026-03-05T00:00:00Z", "RATE_LIMITED");
  expect(await find(keyCount)).toEqual(["2026-03-01T00:00:00.000Z", true]);
  // The third oldest key is one of the newest 10,000, the second oldest isn't.
  await use(second, "2026-03-01T06:00:00Z");
  expect(await find(keyCount)).toEqual(["2026-03-01T00:00:00.000Z", true]);
  await use(ids[2], "2026-03-01T03:00:00Z");
  expect(await find(keyCount)).toEqual(["2026-03-01T03:00:00.000Z", true]);
  await record(oldest, "2026-03-02T12:00:00Z");
  expect(await find(keyCount)).toEqual(["2026-03-02T12:34:56.789Z", false]);
  await useInRow(oldest, "2026-03-02T12:45:00Z");
  expect(await find(keyCount)).toEqual(["2026-03-02T12:45:00.000Z", false]);
  // The key was deleted since.
  await record(randomUUID(), "2026-03-03T08:00:00Z");
  expect(await find(keyCount)).toEqual(["2026-03-03T08:00:00.000Z", false]);
});

test("uses an index for the last hour, the busy keys of its day, the newest keys and their uses", async () => {
  await sql`analyze`.execute(database.owner);
  const plan = await inWorkspace(database.db, scope, (trx) =>
    explainAll(trx, (recording) => findLastUse(recording, scope, { id: keyspaceId, keyCount: 1_000_000 })),
  );
  for (const index of [
    "keyspace_usage_hours_pkey",
    "keyspace_usage_days_busiest",
    "issued_keys_listed",
    "key_counters_pkey",
    "issued_key_uses_pkey",
  ])
    expect(plan).toMatch(new RegExp(`(?:using|on) ${index}\\b`));
  expect(plan).not.toContain("Seq Scan");
  expect(plan).not.toContain("Sort");
});
