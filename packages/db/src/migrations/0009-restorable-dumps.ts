import { type Kysely, sql } from "kysely";

/** Lets the owner of the database dump everything and restore it: pg_dump works with an empty search_path, and under row-level security. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const schema = rows[0]?.schema ?? "public";
  await qualifyFunctions(db, schema);
  await admitBackups(db);
}

/**
 * The names in their bodies were looked up in the caller's search_path. The schema is written into the bodies, because a
 * function that sets search_path sets it for each call, and policies call these once per row. `named_workspace` and
 * `named_user` were resolved when they were created.
 */
async function qualifyFunctions(db: Kysely<unknown>, schema: string): Promise<void> {
  const [users, members, apiKeys] = ["users", "members", "api_keys"].map((name) => sql.id(schema, name));
  const namedUser = sql.id(schema, "named_user");
  await sql`
    create or replace function is_own_workspace(workspace uuid) returns boolean
    language plpgsql stable parallel safe as $body$
    begin
      return exists (select from ${members} where workspace_id = workspace and user_id = ${namedUser}());
    end $body$`.execute(db);
  await sql`
    create or replace function is_own_key(key uuid) returns boolean
    language plpgsql stable parallel safe as $body$
    begin
      return exists (select from ${apiKeys} where id = key and user_id = ${namedUser}());
    end $body$`.execute(db);
  await sql`
    create or replace function name_first_user_operator() returns trigger language plpgsql as $body$
    begin
      if exists (select from ${users}) then return new; end if;
      perform pg_advisory_xact_lock(hashtextextended('latchkey first user', 0));
      new.is_operator := not exists (select from ${users});
      return new;
    end $body$`.execute(db);
}

/**
 * Shows all rows to the owner of the database in a session that asks for it. In any other session the owner gets an error,
 * not zero rows, so that a dump without the setting fails instead of being incomplete. The policy is for
 * `pg_database_owner`, because a policy that names the owner could not be restored where the owner has another name.
 */
async function admitBackups(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function require_backup() returns boolean language plpgsql stable parallel safe as $body$
    begin
      if current_setting('latchkey.backup', true) = 'on' then return true; end if;
      raise insufficient_privilege using
        message = 'row-level security hides the rows of tenants from the owner of the database',
        hint = 'A session with "set latchkey.backup = on" can read all of them.';
    end $body$`.execute(db);
  for (const table of ["workspaces", "members", "audit_events", "key_usage_hours"]) {
    await sql`
      create policy backup on ${sql.table(table)} for select to pg_database_owner
      using (require_backup())`.execute(db);
  }
}
