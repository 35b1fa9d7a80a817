import { type Kysely, sql } from "kysely";

/** Indexes to purge expired rows by. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index sessions_expires_at on sessions (expires_at)`.execute(db);
  await sql`create index verifications_expires_at on verifications (expires_at)`.execute(db);
}
