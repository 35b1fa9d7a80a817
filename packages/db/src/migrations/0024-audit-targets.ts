import { type Kysely, sql } from "kysely";

/** Finds the events of one target, such as everything that happened to a member. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index audit_events_by_target on audit_events (workspace_id, target_id, occurred_at, id)`.execute(
    db,
  );
}
