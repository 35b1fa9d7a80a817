import { type Kysely, sql } from "kysely";

/**
 * A change of a key's permissions writes only the rows that differ. The former version of this function deleted and inserted the
 * rows of all permissions of each changed key, and of keys that other keys were changed with.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const permissions = sql.id(rows[0]?.schema ?? "public", "issued_key_permissions");
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
      elsif exists (
        select from added join removed using (id) where added.permissions <> removed.permissions
      ) then
        delete from ${permissions} as listed
        using removed as key join added using (id), unnest(key.permissions) as former
        where former <> all(added.permissions)
          and listed.keyspace_id = key.keyspace_id and listed.permission = former
          and listed.created_at = key.created_at and listed.key_id = key.id;
        insert into ${permissions} (workspace_id, keyspace_id, permission, created_at, key_id)
        select key.workspace_id, key.keyspace_id, permission, key.created_at, key.id
        from added as key join removed using (id), unnest(key.permissions) as permission
        where permission <> all(removed.permissions)
        on conflict do nothing;
      end if;
      return null;
    end $body$`.execute(db);
}
