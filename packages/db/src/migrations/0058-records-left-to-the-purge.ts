import { type Kysely, sql } from "kysely";

/**
 * The deletion of a user leaves the records of verifications to the purge, which deletes them within about an hour. A user whose
 * services send `Idempotency-Key`s can have millions of them. Deleting these took seconds, during which the deletion held the locks on
 * the counters of the user's API keys, or exceeded the timeout of statements, so that the user couldn't be deleted (docs/decisions/0086).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const records = sql.id(rows[0]?.schema ?? "public", "idempotency_records");
  // Only POST requests have records. These ranges of the primary key leave out the records of verifications, without reading them.
  // Without full scans, because Postgres keeps the plan, and the table can have grown.
  await sql`
    create or replace function delete_records_of_user() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $body$
    begin
      delete from ${records} where user_id = old.id and method = 'POST' and path < '/open/keys/verify';
      delete from ${records} where user_id = old.id and method = 'POST' and path > '/open/keys/verify'
        and path < '/open/keys/verify-batch';
      delete from ${records} where user_id = old.id and method = 'POST' and path > '/open/keys/verify-batch';
      return null;
    end $body$`.execute(db);
}
