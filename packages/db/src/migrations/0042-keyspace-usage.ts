import { type Kysely, sql } from "kysely";

/** Statistics of the verifications of issued keys, and the latest rejected ones of each key. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createUsage(db);
  await createRejections(db);
  await isolateTenants(db);
}

/**
 * No foreign keys, like the history of API keys. The fill factors leave room for updates in place, because no index
 * contains what most updates change.
 */
async function createUsage(db: Kysely<unknown>): Promise<void> {
  // The subject is a keyspace, an issued key or a consumer.
  await sql`
    create table keyspace_usage_hours (
      workspace_id uuid not null,
      subject_id uuid not null,
      hour timestamptz not null,
      outcome text not null,
      count bigint not null,
      primary key (workspace_id, subject_id, hour, outcome)
    ) with (fillfactor = 80)`.execute(db);
  await sql`create index keyspace_usage_hours_hour on keyspace_usage_hours (hour)`.execute(db);
  // `magnitude` is the binary logarithm of the count, rounded down. It changes rarely, and its index finds the busiest
  // subjects of a day.
  await sql`
    create table keyspace_usage_days (
      workspace_id uuid not null,
      keyspace_id uuid not null,
      subject_id uuid not null,
      is_consumer boolean not null,
      day date not null,
      count bigint not null,
      use_count bigint not null,
      magnitude smallint not null,
      primary key (workspace_id, subject_id, day)
    ) with (fillfactor = 80)`.execute(db);
  await sql`
    create index keyspace_usage_days_busiest
    on keyspace_usage_days (workspace_id, keyspace_id, is_consumer, day, magnitude)`.execute(db);
  await sql`create index keyspace_usage_days_day on keyspace_usage_days (day)`.execute(db);
  await sql`
    create table keyspace_tag_hours (
      workspace_id uuid not null,
      keyspace_id uuid not null,
      hour timestamptz not null,
      tag text not null,
      count bigint not null,
      use_count bigint not null,
      primary key (workspace_id, keyspace_id, hour, tag)
    ) with (fillfactor = 80)`.execute(db);
  await sql`create index keyspace_tag_hours_hour on keyspace_tag_hours (hour)`.execute(db);
}

async function createRejections(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table issued_key_rejections (
      workspace_id uuid not null,
      key_id uuid not null,
      id uuid not null,
      occurred_at timestamptz not null,
      code text not null,
      address text,
      request_id text not null,
      primary key (key_id, id)
    )`.execute(db);
  await sql`create index issued_key_rejections_occurred_at on issued_key_rejections (occurred_at)`.execute(
    db,
  );
}

async function isolateTenants(db: Kysely<unknown>): Promise<void> {
  for (const name of [
    "keyspace_usage_hours",
    "keyspace_usage_days",
    "keyspace_tag_hours",
    "issued_key_rejections",
  ]) {
    const table = sql.table(name);
    await sql`alter table ${table} enable row level security`.execute(db);
    await sql`alter table ${table} force row level security`.execute(db);
    await sql`
      create policy named_workspace on ${table} for select to latchkey_tenant
      using (workspace_id = named_workspace())`.execute(db);
    await sql`create policy admission on ${table} to latchkey_admission using (true)`.execute(db);
    await sql`
      create policy backup on ${table} for select to pg_database_owner
      using (require_backup())`.execute(db);
    await sql`grant select on ${table} to latchkey_tenant`.execute(db);
    await sql`grant select, insert, update, delete on ${table} to latchkey_admission`.execute(db);
  }
}
