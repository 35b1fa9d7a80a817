import { type Kysely, sql } from "kysely";

/** Notices to users, their settings, and the devices and networks that aren't new anymore. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table notices (
      id uuid primary key,
      user_id uuid not null references users on delete cascade,
      kind text not null,
      subject text not null,
      facts jsonb not null,
      is_shown boolean not null,
      is_email_due boolean not null,
      email_claimed_until timestamptz,
      emailed_at timestamptz,
      read_at timestamptz,
      created_at timestamptz not null default clock_timestamp(),
      unique (user_id, kind, subject)
    )`.execute(db);
  await sql`create index notices_list on notices (user_id, created_at, id) where is_shown`.execute(db);
  await sql`create index notices_unread on notices (user_id) where is_shown and read_at is null`.execute(db);
  await sql`create index notices_due on notices (user_id) where is_email_due`.execute(db);
  await sql`create index notices_created_at on notices (created_at)`.execute(db);
  await sql`
    create table notice_settings (
      user_id uuid not null references users on delete cascade,
      kind text not null,
      in_app boolean not null,
      by_email boolean not null,
      primary key (user_id, kind)
    )`.execute(db);
  await sql`
    create table known_devices (
      user_id uuid not null references users on delete cascade,
      device text not null,
      last_used_at timestamptz not null,
      primary key (user_id, device)
    )`.execute(db);
  await sql`create index known_devices_last_used_at on known_devices (last_used_at)`.execute(db);
  // Like the other history of keys, without a foreign key, so that a deleted key can't make a write fail.
  await sql`
    create table key_networks (
      key_id uuid not null,
      network text not null,
      first_seen_at timestamptz not null,
      last_seen_at timestamptz not null,
      is_reviewed boolean not null default false,
      primary key (key_id, network)
    )`.execute(db);
  await sql`create index key_networks_new on key_networks (first_seen_at) where not is_reviewed`.execute(db);
  await sql`create index key_networks_last_seen_at on key_networks (last_seen_at)`.execute(db);
  await sql`
    create index api_keys_expiry on api_keys (expires_at)
    where expires_at is not null and deleted_at is null`.execute(db);
  await sql`
    create index retired_secrets_refused_at on retired_secrets (refused_at)
    where refused_at is not null`.execute(db);
  for (const table of ["notices", "notice_settings", "known_devices"]) {
    await sql`grant select, insert, update, delete on ${sql.table(table)} to latchkey_tenant`.execute(db);
  }
  await sql`grant select, delete, update (is_reviewed) on key_networks to latchkey_tenant`.execute(db);
  await sql`grant select, insert, update, delete on key_networks to latchkey_admission`.execute(db);
}
