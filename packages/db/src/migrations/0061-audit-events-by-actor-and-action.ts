import { type Kysely, sql } from "kysely";

/**
 * Building the index takes seconds in a large database. In the same transaction, the lock of migration 0060 would stop sign-ins until
 * the index is built, and a change that has written the audit log and waits for the security log would deadlock with it.
 */
export const startsTransaction = true;

/**
 * Without this index, a filter for an action and an actor that are both frequent, but rarely together, reads all events of one of
 * them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Autovacuum gives up its lock only when it has blocked another transaction for a second (`deadlock_timeout`).
  await sql`set local lock_timeout = '1500ms'`.execute(db);
  await sql`
    create index audit_events_by_actor_and_action
      on audit_events (workspace_id, actor_user_id, action, occurred_at, id)`.execute(db);
}
