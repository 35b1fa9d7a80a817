import { type Kysely, sql } from "kysely";

/**
 * What lists of a million issued keys need. Row-level security allows an index only for operators that can't reveal values of
 * other rows: comparisons and `^@`, but neither `like`, `lower(…)` nor `@>`. So names are stored in lower case, and the
 * permissions of keys in rows, which triggers write.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  await sql`
    alter table issued_keys
      add column name_search text collate "C" generated always as (lower(name)) stored,
      add column listed_expiry timestamptz
        generated always as (coalesce(expires_at, timestamptz '9999-12-31 23:59:59.999+00')) stored`.execute(
    db,
  );
  await sql`
    create index issued_keys_by_name_search on issued_keys (keyspace_id, name_search, id)`.execute(db);
  await sql`
    create index issued_keys_by_expiry on issued_keys (keyspace_id, listed_expiry, id)`.execute(db);
  await createPermissions(db);
  await createTriggers(db, rows[0]?.schema ?? "public");
  await copyPermissions(db);
}

async function createPermissions(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table issued_key_permissions (
      workspace_id uuid not null,
      keyspace_id uuid not null,
      permission text collate "C" not null,
      created_at timestamptz not null,
      key_id uuid not null,
      primary key (keyspace_id, permission, created_at, key_id)
    )`.execute(db);
  await sql`alter table issued_key_permissions enable row level security`.execute(db);
  await sql`alter table issued_key_permissions force row level security`.execute(db);
  await sql`
    create policy named_workspace on issued_key_permissions to latchkey_tenant
    using (workspace_id = named_workspace())`.execute(db);
  await sql`
    create policy backup on issued_key_permissions for select to pg_database_owner
    using (require_backup())`.execute(db);
  await sql`grant select, insert, delete on issued_key_permissions to latchkey_tenant`.execute(db);
}

/** An update writes only what differs. The time at which a key was created doesn't change. */
async function createTriggers(db: Kysely<unknown>, schema: string): Promise<void> {
  const permissions = sql.id(schema, "issued_key_permissions");
  const insert = (source: string) => sql`
    insert into ${permissions} (workspace_id, keyspace_id, permission, created_at, key_id)
    select workspace_id, keyspace_id, permission, created_at, id from ${sql.id(source)}, unnest(permissions) as permission
    on conflict do nothing`;
  const remove = (source: string) => sql`
    delete from ${permissions} as listed using ${sql.id(source)} as key, unnest(key.permissions) as former
    where listed.keyspace_id = key.keyspace_id and listed.permission = former
      and listed.created_at = key.created_at and listed.key_id = key.id`;
  await sql`
    create function list_issued_key_permissions() returns trigger
    language plpgsql as $body$
    begin
      if tg_op = 'INSERT' then
        ${insert("added")};
      elsif tg_op = 'DELETE' then
        ${remove("removed")};
      elsif exists (
        select from added join removed using (id) where added.permissions <> removed.permissions
      ) then
        ${remove("removed")};
        ${insert("added")};
      end if;
      return null;
    end $body$`.execute(db);
  for (const [name, event, tables] of [
    ["list_permissions_of_added_keys", "insert", "new table as added"],
    ["list_permissions_of_changed_keys", "update", "old table as removed new table as added"],
    ["list_permissions_of_deleted_keys", "delete", "old table as removed"],
  ] as const)
    await sql`
      create trigger ${sql.id(name)} after ${sql.raw(event)} on issued_keys referencing ${sql.raw(tables)}
        for each statement execute function list_issued_key_permissions()`.execute(db);
}

/** The migration runs as the owner of the database, from whom forced row-level security hides the rows. */
async function copyPermissions(db: Kysely<unknown>): Promise<void> {
  for (const table of ["issued_keys", "issued_key_permissions"])
    await sql`alter table ${sql.table(table)} no force row level security`.execute(db);
  await sql`
    insert into issued_key_permissions (workspace_id, keyspace_id, permission, created_at, key_id)
    select workspace_id, keyspace_id, permission, created_at, id from issued_keys, unnest(permissions) as permission
    on conflict do nothing`.execute(db);
  for (const table of ["issued_keys", "issued_key_permissions"])
    await sql`alter table ${sql.table(table)} force row level security`.execute(db);
}
