import { type Kysely, sql } from "kysely";

/** What a repeated request that issued a secret is decided by: who sent it, which secret it issued, and whether that was used. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table idempotency_records
      add column presented_hash bytea,
      add column issued_hash bytea`.execute(db);
  // Null in almost every row, so that a row that is counted in place is as short as before.
  await sql`alter table key_counters add column has_unused_secret boolean`.execute(db);
  await sql`
    grant update (has_unused_secret) on key_counters to latchkey_tenant, latchkey_admission`.execute(db);
}
