import { type Kysely, sql } from "kysely";

/**
 * When and from where sessions were last used, and events of accounts in the security log: sign-ins, ended sessions and
 * new passwords. Earlier versions add sessions without a last use, so the column has a default.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions add column last_used_at timestamptz`.execute(db);
  await sql`alter table sessions alter column last_used_at set default clock_timestamp()`.execute(db);
  await sql`alter table security_events add column user_agent text`.execute(db);
}
