import { type Kysely, sql } from "kysely";

/**
 * Counts uses of issued keys without meters in a table of their own, which has rows only of keys in use, so that they are on few
 * pages and in a small index (docs/decisions/0079). A change of a key's version deletes its row and adds its uses to the counter.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const schema = rows[0]?.schema ?? "public";
  const [counters, uses] = [sql.id(schema, "key_counters"), sql.id(schema, "issued_key_uses")];
  // No index on what changes and half of each page left free, so that an update stays on its page (HOT).
  await sql`
    create table issued_key_uses (
      key_id uuid primary key,
      version integer not null,
      use_count bigint not null default 0,
      last_used_at timestamptz
    ) with (fillfactor = 50)`.execute(db);
  await sql`grant select on issued_key_uses to latchkey_tenant`.execute(db);
  await sql`
    grant select, insert (key_id, version), update (use_count, last_used_at) on issued_key_uses
    to latchkey_admission`.execute(db);
  // Locks the rows of keys whose counters are locked, in the order in which uses are counted. Each statement of a function sees what
  // was committed before it, so this one sees the rows that were added while the caller waited for the counters.
  await sql`
    create function lock_issued_key_uses(ids uuid[]) returns boolean
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
    begin
      perform from ${uses} where key_id = any(ids) order by key_id for update;
      return true;
    end $body$`.execute(db);
  // The functions run as their owner, so they name the schema and fix the search_path.
  await sql`
    create function add_issued_key_uses() returns trigger
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $body$
    begin
      with ended as (
        delete from ${uses} where key_id = new.key_id returning key_id, use_count, last_used_at
      )
      update ${counters} as counter
      set use_count = counter.use_count + ended.use_count,
        last_used_at = greatest(counter.last_used_at, ended.last_used_at)
      from ended where counter.key_id = ended.key_id;
      return null;
    end $body$`.execute(db);
  // Last, because admission waits from here until the end of the migration.
  await sql`
    alter table issued_key_uses add foreign key (key_id) references key_counters on delete cascade`.execute(
    db,
  );
  // Counting a use changes neither column, so the function isn't called.
  await sql`
    create trigger add_issued_key_uses after update of version, credits on key_counters for each row
      when (new.version <> old.version or old.credits is null and new.credits is not null)
      execute function add_issued_key_uses()`.execute(db);
}
