import { type Kysely, sql } from "kysely";

/**
 * A workspace can require a second factor also of the owners of the API keys that reach it. Admission reads which users have
 * one. Triggers increment the version of an owner with every change that this depends on, so that no node decides by facts
 * from before it, whichever release's node makes the change.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  const schema = rows[0]?.schema ?? "public";
  const [versions, users, members] = ["owner_versions", "users", "members"].map((name) =>
    sql.id(schema, name),
  );
  await sql`grant select (user_id, confirmed_at) on totp_factors to latchkey_admission`.execute(db);
  await sql`grant select (user_id) on passkeys to latchkey_admission`.execute(db);
  await sql`grant select (requires_second_factor) on workspaces to latchkey_admission`.execute(db);
  // A user who is deleted together with their factors keeps no version.
  await sql`
    create function bump_owner_with_factor() returns trigger
    language plpgsql as $body$
    begin
      insert into ${versions} as known (owner_id, version)
      select id, 1 from ${users} where id = case tg_op when 'DELETE' then old.user_id else new.user_id end
      on conflict (owner_id) do update set version = known.version + 1;
      return null;
    end $body$`.execute(db);
  await sql`
    create trigger bump_owner_with_totp after insert or delete or update of confirmed_at on totp_factors
      for each row execute function bump_owner_with_factor()`.execute(db);
  await sql`
    create trigger bump_owner_with_passkey after insert or delete on passkeys
      for each row execute function bump_owner_with_factor()`.execute(db);
  // In the order of the owners, as `bumpOwnerVersions` increments them, so that two transactions can't deadlock.
  await sql`
    create function bump_members() returns trigger
    language plpgsql as $body$
    begin
      insert into ${versions} as known (owner_id, version)
      select user_id, 1 from ${members} where workspace_id = new.id order by user_id
      on conflict (owner_id) do update set version = known.version + 1;
      return null;
    end $body$`.execute(db);
  await sql`
    create trigger bump_members after update of requires_second_factor on workspaces
      for each row when (old.requires_second_factor <> new.requires_second_factor)
      execute function bump_members()`.execute(db);
}
