import { type Kysely, sql } from "kysely";

/**
 * Building the index takes seconds in a large database. In the same transaction, the locks of migration 0062 on queues would
 * stop jobs until the index is built.
 */
export const startsTransaction = true;

/**
 * Without this index, a filter for an action and a target that are both frequent, but rarely together, reads all events of one of
 * them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Autovacuum gives up its lock only when it has blocked another transaction for a second (`deadlock_timeout`).
  await sql`set local lock_timeout = '1500ms'`.execute(db);
  await sql`
    create index audit_events_by_target_and_action
      on audit_events (workspace_id, target_id, action, occurred_at, id)`.execute(db);
}
