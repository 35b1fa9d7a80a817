import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { listConsumers, maxSummedKeys } from "./consumers.ts";
import type { KeyspaceId } from "./ids.ts";
import { addKeyspace, addWorkspace } from "./issued-keys.test-kit.ts";
import type { Position } from "./page.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";

let database: TestDatabase;
let scope: WorkspaceScope;
let keyspaceId: KeyspaceId;

/** The number of keys of each consumer, by its external ID, in the order of the list. */
const keyCounts = {
  half: maxSummedKeys / 2,
  "the other half": maxSummedKeys / 2,
  none: 0,
  "too many for the first page": 1,
  "too many for any page": maxSummedKeys + 1,
  last: 1,
};

beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  scope = await addWorkspace(database.db);
  keyspaceId = await addKeyspace(database.db, scope);
  const { workspaceId } = scope;
  for (const [externalId, keyCount] of Object.entries(keyCounts))
    await sql`
      with consumer as (
        insert into consumers (workspace_id, keyspace_id, id, external_id)
        values (${workspaceId}, ${keyspaceId}, gen_random_uuid(), ${externalId}) returning id
      )
      insert into issued_keys (workspace_id, keyspace_id, id, consumer_id, hash, start, name, permissions)
      select ${workspaceId}, ${keyspaceId}, gen_random_uuid(), consumer.id, sha256((${externalId}::text || n)::bytea), 'sk_live_a', '', '{}'
      from consumer, generate_series(1, ${keyCount}::integer) n`.execute(database.owner);
  await sql`
    insert into key_counters (key_id, use_count, last_used_at)
    select id, 2, timestamptz '2026-01-01' from issued_keys`.execute(database.owner);
  await sql`
    insert into issued_key_uses (key_id, version, use_count, last_used_at)
    select id, 1, 3, timestamptz '2026-01-02' from issued_keys where consumer_id in (
      select id from consumers where external_id = 'half'
    )`.execute(database.owner);
});
afterAll(() => database.drop());

const list = (limit: number, after?: Position) =>
  inWorkspace(database.db, scope, (trx) =>
    listConsumers(trx, scope, {
      keyspaceId,
      sort: "createdAt",
      direction: "asc",
      filter: {},
      limit,
      after,
    }),
  );

test("a page of consumers ends before the one with which they would have more than 10,000 keys", async () => {
  expect(maxSummedKeys).toBe(10_000);
  const pages: (readonly string[])[] = [];
  let after: Position | undefined;
  do {
    const { rows, examinedTo } = await list(100, after);
    pages.push(rows.map(({ externalId }) => externalId));
    after = examinedTo;
  } while (after && pages.length < 10);
  expect(pages).toEqual([
    ["half", "the other half", "none"],
    ["too many for the first page"],
    ["too many for any page"],
    ["last"],
  ]);
});

test("a page with as many consumers as its limit ends with the last of them", async () => {
  const { rows, examinedTo } = await list(2);
  expect(rows.map(({ externalId }) => externalId)).toEqual(["half", "the other half"]);
  expect(examinedTo).toBeUndefined();
});

test("a consumer has the uses of all of its keys, and the last of them", async () => {
  const { rows } = await list(3);
  expect(rows).toMatchObject([
    {
      keyCount: 5_000,
      activeKeyCount: 5_000,
      usageCount: 25_000,
      lastUsedAt: new Date("2026-01-02T00:00:00Z"),
    },
    {
      keyCount: 5_000,
      activeKeyCount: 5_000,
      usageCount: 10_000,
      lastUsedAt: new Date("2026-01-01T00:00:00Z"),
    },
    { keyCount: 0, activeKeyCount: 0, usageCount: 0, lastUsedAt: null },
  ]);
});
