import { type Kysely, sql } from "kysely";

/**
 * Indexes for the filters of the audit log. Without them, a filter with few matches reads every event of the workspace,
 * so a member who changes their keys often enough makes the filtered log exceed its timeout.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index audit_events_by_action on audit_events (workspace_id, action, occurred_at, id)`.execute(db);
  await sql`
    create index audit_events_by_actor on audit_events (workspace_id, actor_user_id, occurred_at, id)`.execute(
    db,
  );
}
