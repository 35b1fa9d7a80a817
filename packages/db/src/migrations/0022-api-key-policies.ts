import { type Kysely, sql } from "kysely";

/** The policy of a workspace for the API keys that reach it, and the keys that it blocks. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table api_key_policies (
      workspace_id uuid primary key references workspaces on delete cascade,
      max_lifetime_days integer check (max_lifetime_days > 0),
      is_expiry_required boolean not null default false,
      are_ip_ranges_required boolean not null default false,
      max_idle_days integer check (max_idle_days > 0),
      version integer not null default 1,
      updated_at timestamptz not null default clock_timestamp()
    )`.execute(db);
  await sql`
    create table workspace_key_access (
      workspace_id uuid not null references workspaces on delete cascade,
      key_id uuid not null references api_keys on delete cascade,
      blocked_at timestamptz,
      blocked_by uuid references users on delete set null,
      allowed_at timestamptz,
      primary key (workspace_id, key_id)
    )`.execute(db);
  await sql`create index workspace_key_access_key_id on workspace_key_access (key_id)`.execute(db);
  await sql`create index workspace_key_access_blocked_by on workspace_key_access (blocked_by)`.execute(db);
  // Finds a key's last use in a workspace, however often the key is used in others.
  await sql`
    create index key_usage_hours_last_use on key_usage_hours (workspace_id, key_id, hour)
    where outcome = 'admitted' and workspace_id is not null`.execute(db);
  for (const table of ["api_key_policies", "workspace_key_access"]) {
    await sql`alter table ${sql.table(table)} enable row level security`.execute(db);
    await sql`alter table ${sql.table(table)} force row level security`.execute(db);
    await sql`
      create policy named_workspace on ${sql.table(table)} to latchkey_tenant
      using (workspace_id = named_workspace())`.execute(db);
    await sql`
      create policy admission on ${sql.table(table)} for select to latchkey_admission using (true)`.execute(
      db,
    );
    await sql`
      create policy backup on ${sql.table(table)} for select to pg_database_owner
      using (require_backup())`.execute(db);
    await sql`grant select, insert, update, delete on ${sql.table(table)} to latchkey_tenant`.execute(db);
  }
  // The owner of a key sees which workspaces reject it, and why.
  await sql`
    create policy own_memberships on api_key_policies for select to latchkey_tenant
    using (is_own_workspace(workspace_id))`.execute(db);
  await sql`
    create policy own_keys on workspace_key_access for select to latchkey_tenant
    using (is_own_key(key_id))`.execute(db);
  await sql`
    grant select (workspace_id, max_lifetime_days, is_expiry_required, are_ip_ranges_required, max_idle_days)
    on api_key_policies to latchkey_admission`.execute(db);
  await sql`
    grant select (workspace_id, key_id, blocked_at, allowed_at) on workspace_key_access to latchkey_admission`.execute(
    db,
  );
  await sql`grant select (created_at) on api_keys to latchkey_admission`.execute(db);
  await sql`grant select (created_at) on members to latchkey_admission`.execute(db);
  await sql`grant select (retired_at) on retired_secrets to latchkey_admission`.execute(db);
}
