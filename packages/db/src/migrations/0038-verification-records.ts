import { type Kysely, sql } from "kysely";

/** An index that finds the expired records of verifications, which expire earlier than all others. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index idempotency_records_of_verifications on idempotency_records (created_at)
    where path in ('/open/keys/verify', '/open/keys/verify-batch')`.execute(db);
}
