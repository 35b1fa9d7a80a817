import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { KeyspaceId } from "./ids.ts";
import { addKeyspace, addWorkspace } from "./issued-keys.test-kit.ts";
import { deleteKeyspace } from "./keyspaces.ts";
import { createKeyspacePurge } from "./purge-keyspaces.ts";
import { Purger } from "./purger.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";
import { deleteWorkspace } from "./workspaces.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

/** Adds a keyspace with keys that each have a consumer and an old secret. */
async function addFullKeyspace(scope: WorkspaceScope, keyCount: number): Promise<KeyspaceId> {
  const id = await addKeyspace(database.db, scope);
  await inWorkspace(database.db, scope, async (trx) => {
    const { workspaceId } = scope;
    await sql`
      insert into consumers (workspace_id, keyspace_id, id, external_id)
      select ${workspaceId}, ${id}, gen_random_uuid(), number::text
      from generate_series(1, ${keyCount}::integer) number`.execute(trx);
    await sql`
      insert into issued_keys (workspace_id, keyspace_id, id, consumer_id, hash, start)
      select workspace_id, keyspace_id, gen_random_uuid(), id, sha256(id::text::bytea), 'sk_live_abcdef'
      from consumers where keyspace_id = ${id}`.execute(trx);
    await sql`
      insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
      select sha256(hash), workspace_id, keyspace_id, id, start, now() from issued_keys
      where keyspace_id = ${id}`.execute(trx);
    await sql`
      insert into key_counters (key_id)
      select id from issued_keys where keyspace_id = ${id}
      union all select id from consumers where keyspace_id = ${id}`.execute(trx);
    await sql`
      insert into owner_versions (owner_id, version)
      select id, 1 from consumers where keyspace_id = ${id}`.execute(trx);
  });
  return id;
}

async function remove(scope: WorkspaceScope, id: KeyspaceId): Promise<void> {
  expect(await inWorkspace(database.db, scope, (trx) => deleteKeyspace(trx, scope, id, undefined))).toBe(
    true,
  );
}

/** Counts the stored rows of a keyspace, and all counters and versions of owners. */
async function countRows(id: KeyspaceId): Promise<readonly number[]> {
  const { rows } = await sql<Record<string, number>>`
    select
      (select count(*) from issued_keys where keyspace_id = ${id}) as keys,
      (select count(*) from consumers where keyspace_id = ${id}) as consumers,
      (select count(*) from retired_issued_secrets where keyspace_id = ${id}) as secrets,
      (select count(*) from issued_key_counts where keyspace_id = ${id}) as counts,
      (select count(*) from deleted_keyspaces where id = ${id}) as records,
      (select count(*) from key_counters) as counters,
      (select count(*) from owner_versions) as versions`.execute(database.owner);
  return Object.values(rows[0] ?? {});
}

async function purge(): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  const purger = new Purger({
    connection: database.connection,
    onFailure: (error) => failures.push(error),
  });
  await purger.run();
  await purger.close();
  return failures;
}

test("everything of a deleted keyspace is purged in one round of small steps, and nothing of another one", async () => {
  const scope = await addWorkspace(database.db);
  const [deleted, kept] = [await addFullKeyspace(scope, 1_100), await addFullKeyspace(scope, 2)];
  await remove(scope, deleted);
  // Its consumers have versions as owners, and so does the deleted keyspace.
  expect(await countRows(deleted)).toEqual([1_100, 1_100, 1_100, 1, 1, 2_204, 1_103]);
  expect(await purge()).toEqual([]);
  expect(await countRows(deleted)).toEqual([0, 0, 0, 0, 0, 4, 2]);
  expect(await countRows(kept)).toEqual([2, 2, 2, 1, 0, 4, 2]);
});

test("a step deletes at most its limit, and the record goes last", async () => {
  const scope = await addWorkspace(database.db);
  const id = await addFullKeyspace(scope, 3);
  await remove(scope, id);
  const steps: number[] = [];
  const purgeStep = createKeyspacePurge();
  for (let count = -1; count !== 0; ) {
    count = await purgeStep(database.db, 2);
    steps.push(count);
  }
  // 3 old secrets, 3 keys, 3 consumers and the record.
  expect(steps).toEqual([2, 2, 2, 2, 2, 0]);
});

test("the keyspaces of a deleted workspace are purged too", async () => {
  const scope = await addWorkspace(database.db);
  const id = await addFullKeyspace(scope, 2);
  await inWorkspace(database.db, scope, (trx) => deleteWorkspace(trx, scope, { memberIds: [] }));
  expect((await countRows(id)).slice(0, 5)).toEqual([2, 2, 2, 1, 1]);
  expect(await purge()).toEqual([]);
  expect((await countRows(id)).slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
});

test.each([
  ["key", (id: string) => sql`select from issued_keys where keyspace_id = ${id} limit 1 for no key update`],
  [
    "counter",
    (id: string) => sql`
      select from key_counters where key_id in (select id from issued_keys where keyspace_id = ${id})
      limit 1 for no key update`,
  ],
])(
  "a %s that another transaction has locked is left for a later round, without waiting",
  async (_what, lock) => {
    const scope = await addWorkspace(database.db);
    const [id, other] = [await addFullKeyspace(scope, 2), await addFullKeyspace(scope, 1)];
    await remove(scope, id);
    await remove(scope, other);
    await database.owner.transaction().execute(async (trx) => {
      expect((await lock(id).execute(trx)).rows).toHaveLength(1);
      expect(await purge()).toEqual([]);
      // The keyspace keeps its version as an owner, and its consumers, as long as it has a key.
      expect((await countRows(id)).slice(0, 5)).toEqual([1, 2, 0, 1, 1]);
      expect((await countRows(other)).slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
    });
    expect(await purge()).toEqual([]);
    expect((await countRows(id)).slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
  },
);

test("several nodes can purge at the same time", async () => {
  const scope = await addWorkspace(database.db);
  const ids = [await addFullKeyspace(scope, 300), await addFullKeyspace(scope, 300)];
  for (const id of ids) await remove(scope, id);
  expect((await Promise.all([purge(), purge(), purge()])).flat()).toEqual([]);
  await purge();
  for (const id of ids) expect((await countRows(id)).slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
});

test("a workspace with many rows doesn't delay another one, and takes what the other one leaves", async () => {
  const [large, small] = [await addWorkspace(database.db), await addWorkspace(database.db)];
  const [first, second] = [await addFullKeyspace(large, 200), await addFullKeyspace(large, 200)];
  await remove(large, first);
  await remove(large, second);
  const late = await addFullKeyspace(small, 3);
  await remove(small, late);
  const purgeStep = createKeyspacePurge();
  expect(await purgeStep(database.db, 100)).toBe(100);
  expect((await countRows(late)).slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
  // 3 old secrets, keys and consumers and the record of the small one; the rest is of the large one.
  expect((await countRows(first))[2]).toBe(200 - 90);
  expect(await purge()).toEqual([]);
  for (const id of [first, second]) expect((await countRows(id)).slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
});
