import { type Kysely, sql } from "kysely";

/** Every earlier version runs without the constraint: it mattered only when a user is deleted, and then the trigger does the same. */
export const compatibleFrom = "0001-ground-floor";

/**
 * Replaces the foreign key of `idempotency_records` to users by a trigger that deletes the records of a deleted user. To check the
 * foreign key, a new record waited for the lock that the deletion of its user holds for seconds, and with it a batch of verifications
 * of all tenants (docs/decisions/0085).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const records = sql.id(rows[0]?.schema ?? "public", "idempotency_records");
  // The function runs as its owner, so it names the schema and fixes the search_path.
  await sql`
    create function delete_records_of_user() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
    begin
      delete from ${records} where user_id = old.id;
      return null;
    end $body$`.execute(db);
  // Deletions of users lock the counters of their API keys in an earlier statement (lockCountersOf), so when this runs, no verification
  // by these keys can add a record.
  await sql`
    create trigger delete_records_of_user after delete on users for each row
      execute function delete_records_of_user()`.execute(db);
  await sql`alter table idempotency_records drop constraint idempotency_records_user_id_fkey`.execute(db);
}
