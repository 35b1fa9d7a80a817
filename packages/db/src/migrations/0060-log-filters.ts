import { type Kysely, sql } from "kysely";

/** Building the indexes takes seconds in a large database. Until then, the locks of the migration before it would stop admission. */
export const startsTransaction = true;

/**
 * Indexes for filters of logs. Without the first one, a filter for an action reads the whole security log of a user, which is never
 * purged. Without the second one, a filter for an action and an actor that are both frequent, but rarely together, reads all events of
 * one of them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Both first, so that no index is built in vain if one of the tables is locked. Until the indexes are built, changes wait.
  await sql`lock table security_events, audit_events in share mode`.execute(db);
  await sql`
    create index security_events_by_action on security_events (user_id, action, occurred_at, id)`.execute(db);
  await sql`
    create index audit_events_by_actor_and_action
      on audit_events (workspace_id, actor_user_id, action, occurred_at, id)`.execute(db);
}
