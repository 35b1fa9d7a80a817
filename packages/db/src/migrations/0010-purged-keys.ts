import { type Kysely, sql } from "kysely";

/** Deleting a key for good: an index to find the keys that were deleted long ago, and a trigger that deletes counters. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const counters = sql.id(rows[0]?.schema ?? "public", "key_counters");
  await sql`
    create index api_keys_deleted_at on api_keys (deleted_at) where deleted_at is not null`.execute(db);
  // No role may delete counters by itself. The function runs as its owner, so it names the schema and fixes the search_path.
  await sql`
    create function delete_counters_of_keys() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
    begin
      delete from ${counters} where key_id in (select id from deleted);
      return null;
    end $body$`.execute(db);
  await sql`
    create trigger delete_counters_of_keys after delete on api_keys referencing old table as deleted
      for each statement execute function delete_counters_of_keys()`.execute(db);
}
