import { type Kysely, sql } from "kysely";

/** Lets admission record what a request with an `Idempotency-Key` has spent, in the transaction that spends. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`grant select, insert, update on idempotency_records to latchkey_admission`.execute(db);
}
