import { type Kysely, sql } from "kysely";

/**
 * A change of several keys compares their former and new permissions in time proportional to their number. The former version of
 * this function joined the changed rows, for which Postgres has no statistics. It compared each key with each other key, in 0.3 s
 * for 1,000 keys.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const permissions = sql.id(rows[0]?.schema ?? "public", "issued_key_permissions");
  // Differences instead of joins: Postgres sorts or hashes them, whatever number of keys the plan was made for.
  await sql`
    create or replace function list_issued_key_permissions() returns trigger
    language plpgsql as $body$
    begin
      if tg_op = 'INSERT' then
        insert into ${permissions} (workspace_id, keyspace_id, permission, created_at, key_id)
        select workspace_id, keyspace_id, permission, created_at, id from added, unnest(permissions) as permission
        on conflict do nothing;
      elsif tg_op = 'DELETE' then
        delete from ${permissions} as listed using removed as key, unnest(key.permissions) as former
        where listed.keyspace_id = key.keyspace_id and listed.permission = former
          and listed.created_at = key.created_at and listed.key_id = key.id;
      elsif exists (select id, permissions from added except select id, permissions from removed) then
        delete from ${permissions} as listed
        using (
          select keyspace_id, permission, created_at, id from removed, unnest(permissions) as permission
          except
          select keyspace_id, permission, created_at, id from added, unnest(permissions) as permission
        ) as former
        where listed.keyspace_id = former.keyspace_id and listed.permission = former.permission
          and listed.created_at = former.created_at and listed.key_id = former.id;
        insert into ${permissions} (workspace_id, keyspace_id, permission, created_at, key_id)
        select workspace_id, keyspace_id, permission, created_at, id from added, unnest(permissions) as permission
        except
        select workspace_id, keyspace_id, permission, created_at, id from removed, unnest(permissions) as permission
        on conflict do nothing;
      end if;
      return null;
    end $body$`.execute(db);
}
