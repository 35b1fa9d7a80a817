import { type Kysely, sql } from "kysely";

/** How long the audit log of a workspace is kept, and the deletion of older events. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table workspaces add column audit_retention_days integer`.execute(db);
  await sql`
    create index workspaces_with_audit_retention on workspaces (id) where audit_retention_days is not null`.execute(
    db,
  );
  // The purger lists the workspaces with a retention.
  await sql`create policy admission on workspaces for select to latchkey_admission using (true)`.execute(db);
  await sql`grant select (audit_retention_days, id) on workspaces to latchkey_admission`.execute(db);
  // Even a statement without its condition can't delete an event that the retention keeps, any event without one, or an event of the last
  // 30 days.
  // The deletion of a workspace isn't affected, because foreign keys bypass row-level security.
  await sql`
    create function is_past_retention(workspace uuid, event_time timestamptz) returns boolean
    language sql stable parallel safe
    return event_time <= now() - interval '30 days' and event_time <= now() - make_interval(days => (
      select audit_retention_days from workspaces where id = workspace
    ))`.execute(db);
  await sql`
    create policy retention on audit_events as restrictive for delete to latchkey_tenant
    using (is_past_retention(workspace_id, occurred_at))`.execute(db);
  await sql`grant delete on audit_events to latchkey_tenant`.execute(db);
}
