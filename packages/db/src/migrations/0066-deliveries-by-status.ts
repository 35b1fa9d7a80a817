import { type Kysely, sql } from "kysely";

/**
 * Building the index takes seconds in a large database. In a transaction of its own, it doesn't extend the locks of earlier
 * migrations.
 */
export const startsTransaction = true;

/**
 * Without this index, a filter for a status that few deliveries have reads all deliveries of the webhook. One index covers all
 * three statuses, because any of them can be rare. An index on the status costs each delivery one entry more when it is created
 * and when it ends, and its updates can't be HOT, which is little compared with its job and its HTTP request.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Autovacuum gives up its lock only when it has blocked another transaction for a second (`deadlock_timeout`).
  await sql`set local lock_timeout = '1500ms'`.execute(db);
  await sql`
    create index webhook_deliveries_by_status
      on webhook_deliveries (workspace_id, webhook_id, status, created_at, id)`.execute(db);
}
