import { type Kysely, sql } from "kysely";

/** What a key may be held to, its former secrets, its limit's window, and what is told of its use. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createHistory(db);
  await createRetiredSecrets(db);
  // Whoever has very many keys still has them listed, counted and searched in no time. Admission reads on meanwhile.
  await sql`
    create index api_keys_listed on api_keys (user_id, created_at desc, id desc) include (deleted_at)`.execute(
    db,
  );
  await sql`create index api_keys_by_name on api_keys (user_id, name, id) where deleted_at is null`.execute(
    db,
  );
  // From here on everybody waits until the migration is over, which has nothing long left to do.
  await sql`
    alter table key_counters
      add column window_ends_at timestamptz,
      add column window_spent bigint,
      add column last_granted integer`.execute(db);
  await sql`
    alter table api_keys
      add column disabled_at timestamptz,
      add column expires_at timestamptz,
      add column workspace_ids uuid[],
      add column permissions text[],
      add column is_read_only boolean not null default false,
      add column ip_ranges text[],
      add column limit_quota integer check (limit_quota > 0),
      add column limit_window_seconds integer check (limit_window_seconds between 1 and 86400),
      add column version integer not null default 1,
      add check ((limit_quota is null) = (limit_window_seconds is null))`.execute(db);
  await sql`drop index api_keys_user_id`.execute(db);
  await grantToTenant(db);
  await grantToAdmission(db);
}

async function createRetiredSecrets(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table retired_secrets (
      hash bytea primary key check (length(hash) = 32),
      key_id uuid not null references api_keys on delete cascade,
      start text not null,
      retired_at timestamptz not null default clock_timestamp(),
      good_until timestamptz not null,
      last_used_at timestamptz,
      refused_at timestamptz,
      refused_address text
    )`.execute(db);
  await sql`create index retired_secrets_key_id on retired_secrets (key_id, retired_at)`.execute(db);
}

/** Statistics. No foreign keys: what happened to a key or a workspace must not keep a node from writing the rest. */
async function createHistory(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table key_usage_hours (
      key_id uuid not null,
      hour timestamptz not null,
      workspace_id uuid,
      outcome text not null,
      count bigint not null,
      unique nulls not distinct (key_id, hour, workspace_id, outcome)
    )`.execute(db);
  await sql`create index key_usage_hours_hour on key_usage_hours (hour)`.execute(db);
  await sql`
    create table key_addresses (
      key_id uuid not null,
      address text not null,
      last_seen_at timestamptz not null,
      primary key (key_id, address)
    )`.execute(db);
  await sql`
    create table key_refusals (
      key_id uuid not null,
      id uuid not null,
      occurred_at timestamptz not null,
      address text,
      method text not null,
      path text not null,
      request_id text not null,
      reason text not null,
      primary key (key_id, id)
    )`.execute(db);
  await sql`create index key_refusals_request_id on key_refusals (request_id)`.execute(db);
}

/** A key belongs to a user, in whatever workspaces: who names themselves in a transaction sees the hours of their keys. */
async function grantToTenant(db: Kysely<unknown>): Promise<void> {
  await sql`grant select, insert, delete on retired_secrets to latchkey_tenant`.execute(db);
  await sql`grant update (good_until) on retired_secrets to latchkey_tenant`.execute(db);
  await sql`grant update (window_ends_at) on key_counters to latchkey_tenant`.execute(db);
  await sql`grant select on key_usage_hours, key_addresses, key_refusals to latchkey_tenant`.execute(db);
  await sql`alter table key_usage_hours enable row level security`.execute(db);
  await sql`alter table key_usage_hours force row level security`.execute(db);
  await sql`
    create function is_own_key(key uuid) returns boolean
    language plpgsql stable parallel safe as $$
    begin
      return exists (select from api_keys where id = key and user_id = named_user());
    end $$`.execute(db);
  await sql`
    create policy own_keys on key_usage_hours for select to latchkey_tenant
    using (is_own_key(key_id))`.execute(db);
  await sql`
    create policy admission on key_usage_hours to latchkey_admission using (true)`.execute(db);
}

async function grantToAdmission(db: Kysely<unknown>): Promise<void> {
  await sql`
    grant select (disabled_at, expires_at, workspace_ids, permissions, is_read_only, ip_ranges, limit_quota,
      limit_window_seconds)
    on api_keys to latchkey_admission`.execute(db);
  await sql`
    grant select (hash, key_id, good_until, last_used_at, refused_at) on retired_secrets
    to latchkey_admission`.execute(db);
  await sql`
    grant update (last_used_at, refused_at, refused_address) on retired_secrets
    to latchkey_admission`.execute(db);
  await sql`grant update (window_ends_at, window_spent, last_granted) on key_counters to latchkey_admission`.execute(
    db,
  );
  await sql`
    grant select, insert, update, delete on key_usage_hours, key_addresses, key_refusals
    to latchkey_admission`.execute(db);
}
