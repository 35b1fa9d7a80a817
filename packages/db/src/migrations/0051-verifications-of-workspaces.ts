import { type Kysely, sql } from "kysely";

/**
 * A workspace becomes a subject of `keyspace_usage_hours`, which a node counts like a keyspace. Adds up the hours of existing
 * keyspaces, each of which is read by the primary index, in the role that sees the rows of all tenants. Turning off forced
 * row-level security instead would lock both tables while the rows are added up. This precedes migrations that lock tables.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ canRead: boolean }>`
    select pg_has_role('latchkey_admission', 'member') as "canRead"`.execute(db);
  // A database whose owner isn't granted the role has no rows, because no node starts on it.
  if (!rows[0]?.canRead) return;
  await sql`set local role latchkey_admission`.execute(db);
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
  await sql`set local role none`.execute(db);
}
