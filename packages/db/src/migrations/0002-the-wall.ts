import { type Kysely, sql } from "kysely";

/**
 * The wall between tenants: two roles that see no more than they need, row-level security on everything that belongs
 * to a workspace, and what stands behind it: versions, the audit log, the answers kept for repeated requests.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createRoles(db);
  await addVersions(db);
  await createAuditEvents(db);
  await createIdempotencyRecords(db);
  await grantToTenant(db);
  await grantToAdmission(db);
  await buildWall(db);
}

/**
 * Roles belong to the cluster, not to the database: another database's migration may have made them, or be making
 * them right now. Whoever is no superuser must be a member of a role to take it on.
 */
async function createRoles(db: Kysely<unknown>): Promise<void> {
  await sql`
    do $$
    declare
      name text;
    begin
      foreach name in array array['latchkey_tenant', 'latchkey_admission'] loop
        if not exists (select from pg_roles where rolname = name) then
          begin
            execute format('create role %I nologin', name);
          exception when duplicate_object or unique_violation then
            null; -- Made meanwhile.
          end;
        end if;
        if not (select rolsuper from pg_roles where rolname = current_user) then
          begin
            -- Whoever signs in may take a role on, and has nothing of it before that, as far as Postgres can tell them apart.
            if current_setting('server_version_num')::integer >= 160000 then
              execute format('grant %I to %I with inherit false', name, current_user);
            else
              execute format('grant %I to %I', name, current_user);
            end if;
          exception when insufficient_privilege then
            null; -- Granted already, or the start will say that it must be.
          end;
        end if;
        execute format('grant usage on schema %I to %I', current_schema(), name);
      end loop;
    end $$`.execute(db);
}

/** What two people may edit at once moves its version with every edit; an edit can demand the one it was made from. */
async function addVersions(db: Kysely<unknown>): Promise<void> {
  await sql`alter table workspaces add column version integer not null default 1`.execute(db);
  await sql`alter table members add column version integer not null default 1`.execute(db);
  // Whichever index is chosen to find a member names a single row, also of somebody in very many workspaces.
  await sql`drop index members_user_id`.execute(db);
  await sql`create index members_user_id on members (user_id, workspace_id)`.execute(db);
}

/** No foreign key to users or keys: an event outlives what it tells of, and nothing is deleted for its sake. */
async function createAuditEvents(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table audit_events (
      workspace_id uuid not null references workspaces on delete cascade,
      id uuid not null,
      occurred_at timestamptz not null default clock_timestamp(),
      action text not null,
      actor_kind text not null check (actor_kind in ('session', 'key', 'command')),
      actor_user_id uuid,
      actor_key_id uuid,
      target_kind text not null,
      target_id uuid not null,
      before jsonb,
      after jsonb,
      address text,
      request_id text,
      primary key (workspace_id, id)
    )`.execute(db);
  await sql`
    create index audit_events_in_order on audit_events (workspace_id, occurred_at, id)`.execute(db);
}

async function createIdempotencyRecords(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table idempotency_records (
      user_id uuid not null references users on delete cascade,
      method text not null,
      path text not null,
      key text not null,
      request_hash bytea not null check (length(request_hash) = 32),
      status smallint not null,
      answer json not null,
      created_at timestamptz not null default now(),
      primary key (user_id, method, path, key)
    )`.execute(db);
  await sql`create index idempotency_records_created_at on idempotency_records (created_at)`.execute(db);
}

/** Everything the product does but admission. What admission counts it may not change; what happened stays so. */
async function grantToTenant(db: Kysely<unknown>): Promise<void> {
  await sql`
    grant select, insert, update, delete
    on users, sessions, accounts, verifications, workspaces, members, api_keys, idempotency_records
    to latchkey_tenant`.execute(db);
  await sql`grant select, insert on key_counters, audit_events to latchkey_tenant`.execute(db);
  await sql`grant update (version) on key_counters to latchkey_tenant`.execute(db);
}

/** What decides about a key, across tenants, and the two columns that a use changes. */
async function grantToAdmission(db: Kysely<unknown>): Promise<void> {
  await sql`grant select (id, hash, user_id, deleted_at) on api_keys to latchkey_admission`.execute(db);
  await sql`grant select (id, disabled_at) on users to latchkey_admission`.execute(db);
  await sql`grant select (workspace_id, user_id, role) on members to latchkey_admission`.execute(db);
  await sql`grant select on key_counters to latchkey_admission`.execute(db);
  await sql`grant update (use_count, last_used_at) on key_counters to latchkey_admission`.execute(db);
}

/**
 * A tenant's transaction names one workspace, and sees that one alone; or one user, and sees where that user belongs.
 * Without a name it sees nothing. Forced, so that the tables' owner is under it as well.
 */
async function buildWall(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function named_workspace() returns uuid language sql stable parallel safe
    return nullif(current_setting('latchkey.workspace_id', true), '')::uuid`.execute(db);
  await sql`
    create function named_user() returns uuid language sql stable parallel safe
    return nullif(current_setting('latchkey.user_id', true), '')::uuid`.execute(db);

  for (const table of ["workspaces", "members", "audit_events"]) {
    await sql`alter table ${sql.table(table)} enable row level security`.execute(db);
    await sql`alter table ${sql.table(table)} force row level security`.execute(db);
  }
  for (const [table, column] of [
    ["workspaces", "id"],
    ["members", "workspace_id"],
    ["audit_events", "workspace_id"],
  ] as const) {
    await sql`
      create policy named_workspace on ${sql.table(table)} to latchkey_tenant
      using (${sql.ref(column)} = named_workspace())`.execute(db);
  }
  await sql`
    create policy own_memberships on members for select to latchkey_tenant
    using (user_id = named_user())`.execute(db);
  // A function that the planner does not look into: a query inside the policy would be planned with every query of the
  // table, and cost each endpoint 70 µs more.
  await sql`
    create function is_own_workspace(workspace uuid) returns boolean
    language plpgsql stable parallel safe as $$
    begin
      return exists (select from members where workspace_id = workspace and user_id = named_user());
    end $$`.execute(db);
  await sql`
    create policy own_memberships on workspaces for select to latchkey_tenant
    using (is_own_workspace(id))`.execute(db);
  await sql`create policy admission on members for select to latchkey_admission using (true)`.execute(db);
}
