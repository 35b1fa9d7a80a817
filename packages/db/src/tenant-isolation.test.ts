import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Db } from "./schema.ts";
import { findGaps, requireTenantIsolation } from "./tenant-isolation.ts";
import { digestFunctions, findAdditions } from "./tenant-isolation-additions.ts";
import { TenantIsolationError } from "./tenant-isolation-error.ts";
import { functions, triggers } from "./tenant-isolation-functions.ts";
import { listGrants } from "./tenant-isolation-grants.ts";
import { policies } from "./tenant-isolation-policies.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const run = (db: Db, statement: string) => sql.raw(statement).execute(db);

async function describeIsolation(): Promise<string> {
  return await requireTenantIsolation(database.connection).then(
    () => "isolated",
    (error: Error) => error.message,
  );
}

/** Each statement damages the database. The check then reports `description` and advises `remedy`. */
const damages: readonly (readonly [statement: string, description: string, remedy: string])[] = [
  [
    "drop policy named_workspace on members",
    'the table "members" lacks the policy "named_workspace"',
    "create policy named_workspace on members for all to latchkey_tenant using ((workspace_id = named_workspace()));",
  ],
  [
    "drop policy backup on audit_events",
    'the table "audit_events" lacks the policy "backup"',
    "create policy backup on audit_events for select to pg_database_owner using (require_backup());",
  ],
  [
    "alter policy own_memberships on workspaces using (true)",
    'the policy "own_memberships" of the table "workspaces" has been changed',
    "drop policy own_memberships on workspaces; create policy own_memberships on workspaces for select to latchkey_tenant using (is_own_workspace(id));",
  ],
  [
    "alter policy named_workspace on workspaces to public",
    'the policy "named_workspace" of the table "workspaces" has been changed',
    "drop policy named_workspace on workspaces; create policy named_workspace on workspaces for all to latchkey_tenant using ((id = named_workspace()));",
  ],
  [
    "alter policy named_workspace on audit_events with check (true)",
    'the policy "named_workspace" of the table "audit_events" has been changed',
    "drop policy named_workspace on audit_events; create policy named_workspace on audit_events for all to latchkey_tenant using ((workspace_id = named_workspace()));",
  ],
  [
    "alter table workspaces disable row level security",
    'row-level security of the table "workspaces" is disabled',
    "alter table workspaces enable row level security, force row level security;",
  ],
  [
    "alter table key_usage_hours no force row level security",
    'row-level security of the table "key_usage_hours" is not forced',
    "alter table key_usage_hours enable row level security, force row level security;",
  ],
  [
    "revoke delete on sessions from latchkey_tenant",
    'the role "latchkey_tenant" lacks delete on the table "sessions"',
    "grant delete on sessions to latchkey_tenant;",
  ],
  [
    "revoke update (use_count, last_used_at) on key_counters from latchkey_admission",
    'the role "latchkey_admission" lacks update (last_used_at, use_count) on the table "key_counters"',
    "grant update (last_used_at, use_count) on key_counters to latchkey_admission;",
  ],
  [
    "revoke usage on schema public from latchkey_tenant, public",
    'the role "latchkey_tenant" lacks usage on the schema "public"',
    'grant usage on schema "public" to latchkey_tenant;',
  ],
  [
    "revoke execute on function named_user() from public",
    'the role "latchkey_tenant" lacks execute on the function "named_user()"',
    "grant execute on function named_user() to latchkey_tenant;",
  ],
  [
    "alter table users disable trigger name_first_user_operator",
    'the trigger "name_first_user_operator" of the table "users" is disabled',
    "alter table users enable trigger name_first_user_operator;",
  ],
  [
    "drop policy retention on audit_events",
    'the table "audit_events" lacks the policy "retention"',
    "create policy retention on audit_events as restrictive for delete to latchkey_tenant using (is_past_retention(workspace_id, occurred_at));",
  ],
  [
    "create policy everything on members to latchkey_tenant using (true)",
    'the table "members" has the additional policy "everything"',
    "drop policy everything on members;",
  ],
  [
    'create policy "All rows" on audit_events for select using (true)',
    'the table "audit_events" has the additional policy "All rows"',
    'drop policy "All rows" on audit_events;',
  ],
  [
    "grant update on audit_events to latchkey_tenant",
    'the role "latchkey_tenant" has the additional privilege update on the table "audit_events"',
    "revoke update on audit_events from latchkey_tenant;",
  ],
  [
    "grant select (email, name) on users to latchkey_admission",
    'the role "latchkey_admission" has the additional privilege select (email, name) on the table "users"',
    "revoke select (email, name) on users from latchkey_admission;",
  ],
  [
    "grant select on members to public",
    'the role "public" has the additional privilege select on the table "members"',
    "revoke select on members from public;",
  ],
];

test("repairs what statements can repair, and keeps policies that don't affect the product", async () => {
  const other = await createTestDatabase(inject("postgres"));
  const { owner, connection } = other;
  for (const [statement] of damages) await run(owner, statement);
  await run(owner, "create policy reports on members for select to pg_monitor using (true)");
  await run(owner, "create policy fewer on members as restrictive to latchkey_tenant using (true)");
  const { additions, repaired } = await requireTenantIsolation(connection, { canRepair: true });
  expect(additions).toEqual([]);
  expect(repaired.length).toBeGreaterThan(0);
  expect(await requireTenantIsolation(connection)).toEqual({ additions: [], repaired: [] });
  const { rows } = await run(owner, "select from pg_policies where policyname in ('reports', 'fewer')");
  expect(rows).toHaveLength(2);
  await other.drop();
});

test.each([
  "create or replace function is_own_key(key uuid) returns boolean language plpgsql stable parallel safe as 'begin return true; end'",
  "create or replace function named_user() returns uuid language sql stable parallel safe return null::uuid",
  "alter function require_backup() security definer",
  "alter function is_own_workspace(uuid) set search_path = public",
])("after `%s`, reports that the function has been changed", async (statement) => {
  class Rollback extends Error {}
  const damage = database.owner.transaction().execute(async (trx) => {
    await run(trx, statement);
    const name = /function (\w+)/.exec(statement)?.[1];
    expect(await findAdditions(trx)).toEqual([
      { description: expect.stringMatching(new RegExp(`^the function "${name}\\(.*has been changed$`)) },
    ]);
    throw new Rollback();
  });
  await expect(damage).rejects.toThrow(Rollback);
});

test("on the schema of a newer version, additions are reported, and missing parts are still an error", async () => {
  const { owner, connection } = database;
  await run(owner, "create policy newer on members to latchkey_tenant using (true)");
  expect((await requireTenantIsolation(connection, { isNewer: true })).additions).toEqual([
    'the table "members" has the additional policy "newer"',
  ]);
  await run(owner, "revoke insert on audit_events from latchkey_tenant");
  await expect(requireTenantIsolation(connection, { isNewer: true })).rejects.toThrow(/lacks insert/);
  await requireTenantIsolation(connection, { canRepair: true });
});

test("reports a role that is a member of another role, and advises only a superuser to repair it", async () => {
  class Rollback extends Error {}
  const damage = database.owner.transaction().execute(async (trx) => {
    await sql`grant pg_read_all_data to latchkey_tenant`.execute(trx);
    const found = await findAdditions(trx);
    expect(found).toMatchObject([{ remedy: "revoke pg_read_all_data from latchkey_tenant;" }]);
    expect(new TenantIsolationError(found).message).toBe(
      'The database no longer isolates tenants: the role "latchkey_tenant" is a member of the role pg_read_all_data. ' +
        "To repair the roles, have a superuser run: revoke pg_read_all_data from latchkey_tenant;",
    );
    throw new Rollback();
  });
  await expect(damage).rejects.toThrow(Rollback);
});

test("reports nothing about a database that isolates tenants", async () => {
  expect(await describeIsolation()).toBe("isolated");
});

test.each(damages)(
  "after `%s`, reports the damage and gives advice that repairs it",
  async (statement, description, remedy) => {
    await run(database.owner, statement);
    const message = await describeIsolation();
    expect(message).toContain(description);
    expect(message).toContain(remedy);
    const advice = /or have the owner of the database run: (.*)$/.exec(message)?.[1] ?? "";
    await run(database.owner, advice);
    expect(await describeIsolation()).toBe("isolated");
  },
);

test("reports a role that bypasses row-level security", async () => {
  class Rollback extends Error {}
  const damage = database.owner.transaction().execute(async (trx) => {
    // Rolls back, because the role belongs to the cluster and other test files use it.
    await sql`alter role latchkey_tenant bypassrls`.execute(trx);
    expect(await findGaps(trx)).toEqual([
      {
        description: 'the role "latchkey_tenant" bypasses row-level security',
        remedy: "alter role latchkey_tenant nosuperuser nobypassrls;",
        repairer: "superuser",
      },
    ]);
    throw new Rollback();
  });
  await expect(damage).rejects.toThrow(Rollback);
});

test("the rules match the migrations: a new grant, policy, function or trigger must be added to them", async () => {
  const { owner } = database;
  const fresh = await createTestDatabase(inject("postgres"));
  const granted = await sql`
    select rolname as role, relname as "table", lower(privilege_type) as privilege, null as "column"
    from pg_class cross join aclexplode(relacl) acl join pg_roles on pg_roles.oid = grantee
    where relnamespace = current_schema()::regnamespace and rolname ~ '^latchkey_(tenant|admission)$'
    union all
    select rolname, relname, lower(privilege_type), attname
    from pg_class join pg_attribute on attrelid = pg_class.oid
    cross join aclexplode(attacl) acl join pg_roles on pg_roles.oid = grantee
    where relnamespace = current_schema()::regnamespace and rolname ~ '^latchkey_(tenant|admission)$'`.execute(
    fresh.owner,
  );
  const sorted = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort();
  expect(sorted(listGrants())).toEqual(sorted(granted.rows));
  const found = await sql`
    select tablename as "table", policyname as name, array_to_string(roles, ', ') as role, lower(cmd) as command,
      permissive = 'RESTRICTIVE' as "isRestrictive", qual as using
    from pg_policies where schemaname = current_schema()`.execute(fresh.owner);
  expect(
    sorted(policies.map(({ using, isRestrictive = false, ...rule }) => ({ ...rule, isRestrictive, using }))),
  ).toEqual(sorted(found.rows));
  const signatures = await sql<{ name: string }>`
    select oid::regprocedure::text as name from pg_proc where pronamespace = current_schema()::regnamespace
    order by 1`.execute(owner);
  expect(signatures.rows.map(({ name }) => name)).toEqual(Object.keys(functions));
  expect(Object.fromEntries(await digestFunctions(fresh.owner))).toEqual(functions);
  const names = await sql<{ name: string; table: string }>`
    select tgname as name, tgrelid::regclass::text as table from pg_trigger where not tgisinternal`.execute(
    owner,
  );
  expect(Object.fromEntries(names.rows.map(({ name, table }) => [name, table]))).toEqual(
    Object.fromEntries(Object.entries(triggers).map(([name, { table }]) => [name, table])),
  );
  await fresh.drop();
});
