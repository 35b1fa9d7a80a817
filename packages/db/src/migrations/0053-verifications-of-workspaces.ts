import { type Kysely, sql } from "kysely";

/**
 * A workspace becomes a subject of `keyspace_usage_hours`, which a node counts like a keyspace. Adds up the hours of existing
 * keyspaces, each of which is read by the primary index. The migration runs as the owner of the database, from whom forced
 * row-level security hides the rows.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const tables = ["keyspaces", "keyspace_usage_hours"].map((name) => sql.table(name));
  for (const table of tables) await sql`alter table ${table} no force row level security`.execute(db);
  await sql`
    insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select keyspaces.workspace_id, keyspaces.workspace_id, counted.hour, counted.outcome, sum(counted.count)
    from keyspaces
    cross join lateral (
      select hour, outcome, count from keyspace_usage_hours
      where workspace_id = keyspaces.workspace_id and subject_id = keyspaces.id
      offset 0
    ) counted
    group by 1, 2, 3, 4`.execute(db);
  for (const table of tables) await sql`alter table ${table} force row level security`.execute(db);
}
