import { type Kysely, sql } from "kysely";

/**
 * Every earlier version runs without the constraints: a trigger records each deleted workspace, and the purge of the nodes of this
 * version deletes its rows.
 */
export const compatibleFrom = "0001-ground-floor";

/**
 * The deletion of a workspace leaves its audit events, deliveries to webhooks and blocked API keys to the purge. A workspace can have
 * millions of them, and deleting these exceeded the timeout of statements (docs/decisions/0087).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const schema = rows[0]?.schema ?? "public";
  await sql`
    create table deleted_workspaces (
      workspace_id uuid primary key,
      deleted_at timestamptz not null default clock_timestamp(),
      next_purge_at timestamptz not null default clock_timestamp()
    )`.execute(db);
  await sql`alter table deleted_workspaces enable row level security`.execute(db);
  await sql`alter table deleted_workspaces force row level security`.execute(db);
  await sql`
    create policy named_workspace on deleted_workspaces to latchkey_tenant
    using (workspace_id = named_workspace())`.execute(db);
  await sql`
    create policy backup on deleted_workspaces for select to pg_database_owner
    using (require_backup())`.execute(db);
  // The purge lists the deleted workspaces.
  await sql`
    create policy admission on deleted_workspaces for select to latchkey_admission using (true)`.execute(db);
  await sql`
    grant select, insert, delete, update (next_purge_at) on deleted_workspaces to latchkey_tenant`.execute(
    db,
  );
  await sql`grant select on deleted_workspaces to latchkey_admission`.execute(db);
  await sql`
    create function record_deleted_workspace() returns trigger
    language plpgsql as $body$
    begin
      insert into ${sql.id(schema, "deleted_workspaces")} (workspace_id) values (old.id);
      return null;
    end $body$`.execute(db);
  // The policy "retention" allows the deletion of what this function returns true for. The foreign key bypassed the policy. The role
  // sees the workspace that it names as long as it exists, so it can't delete the events of one that does.
  await sql`
    create or replace function is_past_retention(workspace uuid, event_time timestamptz) returns boolean
    language sql stable parallel safe
    return event_time <= now() - interval '30 days' and event_time <= now() - make_interval(days => (
      select audit_retention_days from workspaces where id = workspace
    )) or not exists (select from workspaces where id = workspace)`.execute(db);
  // Last, because these wait for transactions that use the tables, and others wait for them until the end of the migration. They
  // change only the catalog, however many rows there are. `workspaces` is locked first and completely: transactions also use it before
  // the other tables, and raising a weaker lock could deadlock with them.
  await sql`lock table workspaces in access exclusive mode`.execute(db);
  await sql`
    create trigger record_deleted_workspace after delete on workspaces
      for each row execute function record_deleted_workspace()`.execute(db);
  await sql`alter table audit_events drop constraint audit_events_workspace_id_fkey`.execute(db);
  await sql`alter table workspace_key_access drop constraint workspace_key_access_workspace_id_fkey`.execute(
    db,
  );
}
