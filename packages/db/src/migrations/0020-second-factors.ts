import { type Kysely, sql } from "kysely";

/**
 * Second factors: authenticator apps, recovery codes and passkeys; whether a session was opened with one; and workspaces
 * that require one. Earlier versions open sessions without a second factor.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table totp_factors (
      user_id uuid primary key references users on delete cascade,
      secret bytea not null,
      confirmed_at timestamptz,
      last_step bigint,
      created_at timestamptz not null default clock_timestamp()
    )`.execute(db);
  await sql`
    create table recovery_codes (
      user_id uuid not null references users on delete cascade,
      digest bytea not null check (octet_length(digest) = 32),
      primary key (user_id, digest)
    )`.execute(db);
  await sql`
    create table passkeys (
      id uuid primary key,
      user_id uuid not null references users on delete cascade,
      credential_id text not null unique,
      public_key bytea not null,
      sign_count bigint not null,
      transports text[] not null,
      name text not null,
      created_at timestamptz not null default clock_timestamp(),
      last_used_at timestamptz
    )`.execute(db);
  await sql`create index passkeys_user_id on passkeys (user_id)`.execute(db);
  for (const table of ["totp_factors", "recovery_codes", "passkeys"])
    await sql`grant select, insert, update, delete on ${sql.table(table)} to latchkey_tenant`.execute(db);
  await sql`alter table sessions add column has_second_factor boolean not null default false`.execute(db);
  await sql`alter table workspaces add column requires_second_factor boolean not null default false`.execute(
    db,
  );
}
