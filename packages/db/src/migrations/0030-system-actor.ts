import { type Kysely, sql } from "kysely";

/**
 * Audit events of changes that Latchkey makes by itself. Every earlier version runs on the wider constraint, because
 * it adds no such event and reads all kinds of actors.
 */
export const compatibleFrom = "0001-ground-floor";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table audit_events drop constraint audit_events_actor_kind_check`.execute(db);
  // Not validated, which would read every event under a lock. The former constraint allowed less.
  await sql`
    alter table audit_events add constraint audit_events_actor_kind_check
    check (actor_kind in ('session', 'key', 'command', 'system')) not valid`.execute(db);
}
