import { type Kysely, sql } from "kysely";

/**
 * - `external_id_search` finds consumers by the first part of their external ID, in any letter case. A stored column, because
 *   row-level security allows no index on an expression that could reveal values, such as `lower(external_id)`.
 * - `unused_since` is set when a consumer may have lost its last key or limit, so that it can be purged later. It is also set for
 *   existing consumers, and for those that a node of the previous release adds, because that node doesn't set it when it deletes a
 *   key. The purge removes the mark of those that have keys.
 * - `consumer_count` has the number of stored consumers of each keyspace, for the quota. A trigger writes it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const counts = sql.id(rows[0]?.schema ?? "public", "issued_key_counts");
  await sql`
    alter table consumers
      add column external_id_search text collate "C" generated always as (lower(external_id)) stored,
      add column unused_since timestamptz default now()`.execute(db);
  await sql`
    create index consumers_by_external_id on consumers (keyspace_id, external_id_search, id)`.execute(db);
  await sql`
    create index consumers_unused on consumers (workspace_id, unused_since) where unused_since is not null`.execute(
    db,
  );
  await sql`
    create index deleted_keyspaces_by_workspace on deleted_keyspaces (workspace_id, deleted_at, id)`.execute(
    db,
  );
  await sql`
    alter table issued_key_counts add column consumer_count bigint not null default 0`.execute(db);
  await sql`
    grant update (consumer_count) on issued_key_counts to latchkey_tenant`.execute(db);
  // The purge lists the unused consumers of all workspaces.
  await sql`
    grant select (workspace_id, unused_since) on consumers to latchkey_admission`.execute(db);
  await sql`
    create function count_consumers() returns trigger
    language plpgsql as $body$
    begin
      insert into ${counts} as known (workspace_id, keyspace_id, key_count, consumer_count)
      select workspace_id, keyspace_id, 0, case tg_op when 'INSERT' then count(*) else -count(*) end from changed
      group by workspace_id, keyspace_id
      order by keyspace_id
      on conflict (keyspace_id) do update set consumer_count = known.consumer_count + excluded.consumer_count;
      return null;
    end $body$`.execute(db);
  await sql`
    create trigger count_added_consumers after insert on consumers referencing new table as changed
      for each statement execute function count_consumers()`.execute(db);
  await sql`
    create trigger count_deleted_consumers after delete on consumers referencing old table as changed
      for each statement execute function count_consumers()`.execute(db);
  await countStored(db);
}

/** The migration runs as the owner of the database, from whom forced row-level security hides the rows. */
async function countStored(db: Kysely<unknown>): Promise<void> {
  for (const table of ["consumers", "issued_key_counts"])
    await sql`alter table ${sql.table(table)} no force row level security`.execute(db);
  await sql`
    insert into issued_key_counts as known (workspace_id, keyspace_id, key_count, consumer_count)
    select workspace_id, keyspace_id, 0, count(*) from consumers group by workspace_id, keyspace_id
    on conflict (keyspace_id) do update set consumer_count = excluded.consumer_count`.execute(db);
  for (const table of ["consumers", "issued_key_counts"])
    await sql`alter table ${sql.table(table)} force row level security`.execute(db);
}
