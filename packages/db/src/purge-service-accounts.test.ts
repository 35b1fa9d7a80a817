import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { addWorkspace } from "./issued-keys.test-kit.ts";
import { collectSteps, passHour, removeWorkspace, runPurge } from "./purge-workspaces.test-kit.ts";
import { createWorkspacePurge } from "./purge-workspaces.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import type { WorkspaceScope } from "./workspace-scope.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate deleted_workspaces`.execute(database.owner);
});

/** Adds service accounts, of which only the first is still a member, with two keys each that were rotated. */
async function addServiceAccounts({ workspaceId }: WorkspaceScope, count: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    insert into users (id, name, email, service_workspace_id, disabled_at)
    select gen_random_uuid(), 'Pipeline', gen_random_uuid() || '@service-account.invalid', ${workspaceId},
      case when number > 1 then now() end
    from generate_series(1, ${count}::integer) number order by number returning id`.execute(database.owner);
  const ids = rows.map(({ id }) => id);
  await sql`
    insert into members (workspace_id, user_id, role) values (${workspaceId}, ${ids[0]}, 'viewer')`.execute(
    database.owner,
  );
  await sql`
    with added as (
      insert into api_keys (id, user_id, name, hash, start)
      select gen_random_uuid(), id, 'Key', sha256(gen_random_uuid()::text::bytea), 'lk_abcdef'
      from unnest(${ids}::uuid[]) id cross join generate_series(1, 2) returning id
    ),
    counters as (
      insert into key_counters (key_id) select id from added
    )
    insert into retired_secrets (hash, key_id, start, good_until)
    select sha256(id::text::bytea), id, 'lk_abcdef', now() from added`.execute(database.owner);
  return ids;
}

/** Counts accounts, enabled ones, their keys, counters and old secrets, and the versions of these owners. */
async function countAccounts(ids: readonly string[]): Promise<readonly number[]> {
  const keys = sql`select id from api_keys where user_id = any(${ids}::uuid[])`;
  const { rows } = await sql<Record<string, number>>`
    select
      (select count(*) from users where id = any(${ids}::uuid[])) as accounts,
      (select count(*) from users where id = any(${ids}::uuid[]) and disabled_at is null) as enabled,
      (select count(*) from (${keys}) key) as keys,
      (select count(*) from key_counters where key_id in (${keys})) as counters,
      (select count(*) from retired_secrets where key_id in (${keys})) as secrets,
      (select count(*) from owner_versions where owner_id = any(${ids}::uuid[])) as versions`.execute(
    database.owner,
  );
  return Object.values(rows[0] ?? {});
}

async function countRecords({ workspaceId }: WorkspaceScope): Promise<number | undefined> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from deleted_workspaces where workspace_id = ${workspaceId}`.execute(
    database.owner,
  );
  return rows[0]?.count;
}

test("service accounts, those deleted before too, are disabled and purged with their keys", async () => {
  const [scope, kept] = [await addWorkspace(database.db), await addWorkspace(database.db)];
  const ids = await addServiceAccounts(scope, 3);
  const others = await addServiceAccounts(kept, 1);
  await removeWorkspace(database, scope);
  // All rows stay; the member is disabled, and nodes read its keys again.
  expect(await countAccounts(ids)).toEqual([3, 0, 6, 6, 6, 1]);
  const steps = await collectSteps(database, createWorkspacePurge(), 4);
  // 6 old secrets, 6 keys, 3 accounts and the visit of the record.
  expect(steps).toEqual([4, 4, 4, 4, 0]);
  expect(await countAccounts(ids)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(await countAccounts(others)).toEqual([1, 1, 2, 2, 2, 0]);
});

test("a key of a service account whose counter is in use is left for a later round, with its account", async () => {
  const scope = await addWorkspace(database.db);
  const ids = await addServiceAccounts(scope, 2);
  await removeWorkspace(database, scope);
  await database.owner.transaction().execute(async (trx) => {
    await sql`
      select from key_counters where key_id = (select min(id::text)::uuid from api_keys where user_id = any(${ids}::uuid[]))
      for no key update`.execute(trx);
    await runPurge(database);
    expect((await countAccounts(ids)).slice(0, 4)).toEqual([1, 0, 1, 1]);
    await passHour(database);
    await runPurge(database);
    expect(await countRecords(scope)).toBe(1);
  });
  await runPurge(database);
  expect(await countAccounts(ids)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(await countRecords(scope)).toBe(0);
});
