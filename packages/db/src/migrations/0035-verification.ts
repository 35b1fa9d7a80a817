import { type Kysely, sql } from "kysely";

/** Lets admission record what a request with an `Idempotency-Key` has spent, in the transaction that spends. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    grant select (user_id, method, path, key, request_hash, answer, status, created_at),
      insert (user_id, method, path, key, request_hash, answer, status),
      update (request_hash, answer, status, created_at)
    on idempotency_records to latchkey_admission`.execute(db);
}
