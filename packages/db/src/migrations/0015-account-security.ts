import { type Kysely, sql } from "kysely";

/**
 * When sessions were last used, and when their users last entered the password; and the device of a sign-in in the
 * security log. Earlier versions add sessions without these times.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions add column last_used_at timestamptz`.execute(db);
  await sql`alter table sessions alter column last_used_at set default clock_timestamp()`.execute(db);
  await sql`alter table sessions add column authenticated_at timestamptz`.execute(db);
  await sql`alter table security_events add column user_agent text`.execute(db);
}
