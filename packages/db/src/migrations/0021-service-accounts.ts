import { type Kysely, sql } from "kysely";

/**
 * Service accounts: users that belong to one workspace and aren't people. Earlier versions read `email` as text, so a
 * service account has a placeholder there, which no query of later versions returns.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const users = sql.id(rows[0]?.schema ?? "public", "users");
  await sql`alter table users add column service_workspace_id uuid`.execute(db);
  await sql`
    create index users_service_workspace_id on users (service_workspace_id)
      where service_workspace_id is not null`.execute(db);
  await sql`
    create function check_service_account_member() returns trigger language plpgsql as $body$
    begin
      if exists (
        select from ${users} where id = new.user_id and service_workspace_id is not null
          and (service_workspace_id <> new.workspace_id or new.role = 'owner')
      ) then
        raise check_violation using
          message = 'a service account belongs to one workspace, and does not own it';
      end if;
      return new;
    end $body$`.execute(db);
  await sql`
    create trigger check_service_account_member before insert or update on members
      for each row execute function check_service_account_member()`.execute(db);
}
