import { type Kysely, sql } from "kysely";

/** People and their sessions, workspaces and members, API keys and the rows that count their uses. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table users (
      id uuid primary key,
      email text not null unique check (email = lower(email)),
      email_verified boolean not null default false,
      name text not null,
      image text,
      is_operator boolean not null default false,
      disabled_at timestamptz,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    )`.execute(db);
  await sql`create unique index users_one_operator on users (is_operator) where is_operator`.execute(db);

  // Whoever comes first is the operator. The lock makes two first sign-ups queue, so that the second sees
  // the first; without it both would see an empty table and one would fail on the unique index.
  await sql`
    create function name_first_user_operator() returns trigger language plpgsql as $$
    begin
      if exists (select from users) then return new; end if;
      perform pg_advisory_xact_lock(hashtextextended('latchkey first user', 0));
      new.is_operator := not exists (select from users);
      return new;
    end $$`.execute(db);
  await sql`
    create trigger name_first_user_operator before insert on users
      for each row execute function name_first_user_operator()`.execute(db);

  await sql`
    create table sessions (
      id uuid primary key,
      user_id uuid not null references users on delete cascade,
      token text not null unique,
      expires_at timestamptz not null,
      ip_address text,
      user_agent text,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    )`.execute(db);
  await sql`create index sessions_user_id on sessions (user_id)`.execute(db);

  await sql`
    create table accounts (
      id uuid primary key,
      user_id uuid not null references users on delete cascade,
      account_id text not null,
      provider_id text not null,
      password text,
      access_token text,
      refresh_token text,
      id_token text,
      access_token_expires_at timestamptz,
      refresh_token_expires_at timestamptz,
      scope text,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      unique (provider_id, account_id)
    )`.execute(db);
  await sql`create index accounts_user_id on accounts (user_id)`.execute(db);

  await sql`
    create table verifications (
      id uuid primary key,
      identifier text not null,
      value text not null,
      expires_at timestamptz not null,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    )`.execute(db);
  await sql`create index verifications_identifier on verifications (identifier)`.execute(db);

  await sql`
    create table workspaces (
      id uuid primary key,
      name text not null,
      slug text not null unique,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    )`.execute(db);

  await sql`
    create table members (
      workspace_id uuid not null references workspaces on delete cascade,
      user_id uuid not null references users on delete cascade,
      role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
      created_at timestamptz not null default now(),
      primary key (workspace_id, user_id)
    )`.execute(db);
  await sql`create index members_user_id on members (user_id)`.execute(db);

  await sql`
    create table api_keys (
      id uuid primary key,
      user_id uuid not null references users on delete cascade,
      name text not null,
      description text not null default '',
      start text not null,
      hash bytea not null unique check (length(hash) = 32),
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      deleted_at timestamptz
    )`.execute(db);
  await sql`
    create index api_keys_user_id on api_keys (user_id, created_at desc, id desc)`.execute(db);

  // No foreign key to api_keys: a key's fate must not be able to abort the batch that counts others.
  // No index on what changes and half of each page left free, so that an update stays on its page (HOT).
  await sql`
    create table key_counters (
      key_id uuid primary key,
      version integer not null default 1,
      use_count bigint not null default 0,
      last_used_at timestamptz
    ) with (fillfactor = 50)`.execute(db);
}
