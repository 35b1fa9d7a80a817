import { type Kysely, sql } from "kysely";

/**
 * The owner of the API key that an event is about, because a purged key no longer tells. Null for other targets, and for
 * events of earlier versions and of their nodes, whose owner is read from the key while it exists.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table audit_events add column target_owner_id uuid`.execute(db);
}
