import { type Kysely, sql } from "kysely";

/**
 * Every earlier version runs without the constraints: triggers record each deleted workspace and webhook, and the purge
 * of the nodes of this version deletes their rows.
 */
export const compatibleFrom = "0001-ground-floor";

/**
 * The deletion of a workspace leaves its audit events, deliveries to webhooks and blocked API keys to the purge, and that
 * of a webhook its deliveries. There can be millions of them, and deleting these exceeded the timeout of statements
 * (docs/decisions/0087).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const schema = rows[0]?.schema ?? "public";
  await createRecords(db, "deleted_workspaces", "workspace_id uuid primary key");
  await createRecords(
    db,
    "deleted_webhooks",
    "workspace_id uuid not null, id uuid not null, primary key (workspace_id, id)",
  );
  await sql`create index deleted_webhooks_due on deleted_webhooks (workspace_id, next_purge_at)`.execute(db);
  await sql`
    create function record_deleted_workspace() returns trigger
    language plpgsql as $body$
    begin
      insert into ${sql.id(schema, "deleted_workspaces")} (workspace_id) values (old.id)
      on conflict (workspace_id) do update set deleted_at = clock_timestamp(), next_purge_at = clock_timestamp();
      return null;
    end $body$`.execute(db);
  await sql`
    create function record_deleted_webhook() returns trigger
    language plpgsql as $body$
    begin
      insert into ${sql.id(schema, "deleted_webhooks")} (workspace_id, id) values (old.workspace_id, old.id)
      on conflict (workspace_id, id) do update set deleted_at = clock_timestamp(), next_purge_at = clock_timestamp();
      return null;
    end $body$`.execute(db);
  // The policy "retention" allows the deletion of what this function returns true for. The foreign key bypassed the
  // policy. The role sees the workspace that it names as long as it exists, so it can't delete the events of one that does.
  await sql`
    create or replace function is_past_retention(workspace uuid, event_time timestamptz) returns boolean
    language sql stable parallel safe
    return event_time <= now() - interval '30 days' and event_time <= now() - make_interval(days => (
      select audit_retention_days from workspaces where id = workspace
    )) or not exists (select from workspaces where id = workspace)`.execute(db);
  // Last, because these wait for transactions that use the tables, and others wait for them until the end of the
  // migration. They change only the catalog, however many rows there are.
  await sql`lock table audit_events, webhook_deliveries, webhooks in access exclusive mode`.execute(db);
  // Every lookup of admission reads the other three, and waits while one is locked. If a lock isn't granted within 30 ms,
  // the migration gives up all of its locks and is tried again.
  await sql`
    select set_config('latchkey.lock_timeout', current_setting('lock_timeout'), true),
      set_config('lock_timeout', '30ms', true)`.execute(db);
  await sql`lock table users, workspace_key_access, workspaces in access exclusive mode`.execute(db);
  await sql`select set_config('lock_timeout', current_setting('latchkey.lock_timeout'), true)`.execute(db);
  await sql`alter table audit_events drop constraint audit_events_workspace_id_fkey`.execute(db);
  await sql`
    alter table webhook_deliveries drop constraint webhook_deliveries_workspace_id_webhook_id_fkey`.execute(
    db,
  );
  // Without the second one, the deletion of a user would update all rows of keys that the user has blocked.
  await sql`
    alter table workspace_key_access drop constraint workspace_key_access_workspace_id_fkey,
      drop constraint workspace_key_access_blocked_by_fkey`.execute(db);
  await sql`drop index workspace_key_access_blocked_by`.execute(db);
  await sql`
    create trigger record_deleted_workspace after delete on workspaces
      for each row execute function record_deleted_workspace()`.execute(db);
  // Not for a cascade from `workspaces`: it runs as the owner of the table, who can't insert under forced row-level
  // security, and the record of the workspace covers all of its deliveries.
  await sql`
    create trigger record_deleted_webhook after delete on webhooks for each row
      when (pg_trigger_depth() = 0) execute function record_deleted_webhook()`.execute(db);
}

/** Creates a table of deletions. The purge visits its rows when they are due, and removes them when nothing is left. */
async function createRecords(db: Kysely<unknown>, name: string, key: string): Promise<void> {
  const table = sql.table(name);
  await sql`
    create table ${table} (
      ${sql.raw(key)},
      deleted_at timestamptz not null default clock_timestamp(),
      next_purge_at timestamptz not null default clock_timestamp()
    )`.execute(db);
  await sql`alter table ${table} enable row level security`.execute(db);
  await sql`alter table ${table} force row level security`.execute(db);
  await sql`
    create policy named_workspace on ${table} to latchkey_tenant
    using (workspace_id = named_workspace())`.execute(db);
  await sql`
    create policy backup on ${table} for select to pg_database_owner using (require_backup())`.execute(db);
  // The purge lists the workspaces.
  await sql`
    create policy admission on ${table} for select to latchkey_admission using (true)`.execute(db);
  await sql`grant select, insert, delete, update (deleted_at, next_purge_at) on ${table} to latchkey_tenant`.execute(
    db,
  );
  await sql`grant select on ${table} to latchkey_admission`.execute(db);
}
