import { type Kysely, sql } from "kysely";

/**
 * Building the index takes seconds in a large database. In the same transaction, the locks of migration 0059 would stop admission
 * until the index is built.
 */
export const startsTransaction = true;

/** Without this index, a filter for an action reads the whole security log of a user, which is never purged. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Autovacuum gives up its lock only when it has blocked another transaction for a second (`deadlock_timeout`).
  await sql`set local lock_timeout = '1500ms'`.execute(db);
  await sql`
    create index security_events_by_action on security_events (user_id, action, occurred_at, id)`.execute(db);
}
