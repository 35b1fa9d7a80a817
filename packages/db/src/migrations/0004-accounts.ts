import { type Kysely, sql } from "kysely";

/** Sign-in throttling, and indexes to find expired rows by. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index sessions_expires_at on sessions (expires_at)`.execute(db);
  await sql`create index verifications_expires_at on verifications (expires_at)`.execute(db);

  // The digest stands for what is throttled, such as an email address, which may be one that has no account.
  await sql`
    create table throttle_buckets (
      digest bytea primary key check (length(digest) = 32),
      full_at timestamptz not null
    )`.execute(db);
  await sql`create index throttle_buckets_full_at on throttle_buckets (full_at)`.execute(db);

  await sql`
    create table sign_in_origins (
      digest bytea primary key check (length(digest) = 32),
      user_id uuid not null references users on delete cascade,
      last_used_at timestamptz not null
    )`.execute(db);
  await sql`create index sign_in_origins_user_id on sign_in_origins (user_id, last_used_at)`.execute(db);
  await sql`create index sign_in_origins_last_used_at on sign_in_origins (last_used_at)`.execute(db);

  await sql`
    grant select, insert, update, delete on throttle_buckets, sign_in_origins to latchkey_tenant`.execute(db);
}
