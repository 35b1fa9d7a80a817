import { type Kysely, sql } from "kysely";

/**
 * Keyspaces, and the keys that a workspace issues to the consumers of its own API. The permissions for API keys that reach
 * a workspace get other names, because `keys:` is about issued keys from now on.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  await renamePermissions(db);
  await createKeyspaces(db);
  await createConsumers(db);
  await createIssuedKeys(db);
  await createRetiredSecrets(db);
  await createRefillFunction(db);
  await createTriggers(db, rows[0]?.schema ?? "public");
  await isolateTenants(db);
  await addCredits(db);
}

/** No prefix is `lk` or starts with `lk_`, because no other key may look like an API key. */
async function createKeyspaces(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table keyspaces (
      workspace_id uuid not null references workspaces on delete cascade,
      id uuid not null unique,
      name text not null,
      prefix text not null check (prefix ~ '^[a-z0-9_]{2,16}$' and prefix <> 'lk' and prefix !~ '^lk_'),
      environment text not null default '',
      default_lifetime_days integer check (default_lifetime_days > 0),
      default_permissions text[] not null default '{}',
      default_limits jsonb not null default '[]',
      default_credits jsonb,
      disabled_at timestamptz,
      created_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz not null default clock_timestamp(),
      version integer not null default 1,
      primary key (workspace_id, id)
    )`.execute(db);
  await sql`
    create table deleted_keyspaces (
      id uuid primary key,
      workspace_id uuid not null,
      deleted_at timestamptz not null default clock_timestamp()
    )`.execute(db);
}

/** No foreign key, like issued keys. */
async function createConsumers(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table consumers (
      workspace_id uuid not null,
      keyspace_id uuid not null,
      id uuid primary key,
      external_id text not null,
      limits jsonb not null default '[]',
      created_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz not null default clock_timestamp(),
      version integer not null default 1,
      unique (keyspace_id, external_id)
    )`.execute(db);
  await sql`create index consumers_listed on consumers (keyspace_id, created_at, id)`.execute(db);
}

/**
 * No foreign key to the keyspace, the workspace or the consumer, because deleting a keyspace of a million keys must change
 * few rows. `issued_key_counts` has the number of stored keys of each keyspace, which would take too long to count.
 */
async function createIssuedKeys(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table issued_keys (
      workspace_id uuid not null,
      keyspace_id uuid not null,
      id uuid primary key,
      consumer_id uuid,
      hash bytea not null check (length(hash) = 32),
      start text not null,
      name text not null default '',
      meta jsonb not null default '{}',
      permissions text[] not null default '{}',
      limits jsonb not null default '[]',
      refill jsonb,
      expires_at timestamptz,
      disabled_at timestamptz,
      ip_ranges text[],
      created_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz not null default clock_timestamp(),
      version integer not null default 1
    )`.execute(db);
  // The hash comes first, so that the index also finds a key whose workspace is unknown.
  await sql`create unique index issued_keys_hash on issued_keys (hash, workspace_id)`.execute(db);
  await sql`create index issued_keys_listed on issued_keys (keyspace_id, created_at, id)`.execute(db);
  await sql`create index issued_keys_by_name on issued_keys (keyspace_id, name, id)`.execute(db);
  await sql`
    create index issued_keys_by_name_start on issued_keys (keyspace_id, lower(name) text_pattern_ops)`.execute(
    db,
  );
  await sql`create index issued_keys_by_start on issued_keys (keyspace_id, start text_pattern_ops)`.execute(
    db,
  );
  await sql`
    create index issued_keys_consumer_id on issued_keys (consumer_id, id) where consumer_id is not null`.execute(
    db,
  );
  await sql`
    create index issued_keys_disabled on issued_keys (keyspace_id, created_at, id) where disabled_at is not null`.execute(
    db,
  );
  await sql`
    create index issued_keys_expiring on issued_keys (keyspace_id, expires_at) where expires_at is not null`.execute(
    db,
  );
  await sql`create index issued_keys_permissions on issued_keys using gin (permissions)`.execute(db);
  await sql`
    create table issued_key_counts (
      workspace_id uuid not null,
      keyspace_id uuid primary key,
      key_count bigint not null
    ) with (fillfactor = 50)`.execute(db);
  await sql`create index issued_key_counts_workspace_id on issued_key_counts (workspace_id)`.execute(db);
}

/** Old secrets of issued keys that were rotated. */
async function createRetiredSecrets(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table retired_issued_secrets (
      hash bytea not null check (length(hash) = 32),
      workspace_id uuid not null,
      keyspace_id uuid not null,
      key_id uuid not null,
      start text not null,
      retired_at timestamptz not null default clock_timestamp(),
      good_until timestamptz not null,
      primary key (hash, workspace_id)
    )`.execute(db);
  await sql`create index retired_issued_secrets_key_id on retired_issued_secrets (key_id, retired_at)`.execute(
    db,
  );
  await sql`create index retired_issued_secrets_keyspace_id on retired_issued_secrets (keyspace_id)`.execute(
    db,
  );
}

/**
 * `latest_refill` returns the last time, not after `until`, at which credits are refilled: every day, or every month on a
 * day, at midnight UTC. In a month without that day, it is the last day of the month.
 */
async function createRefillFunction(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function latest_refill(refill jsonb, until timestamptz) returns timestamptz
    language sql stable parallel safe as $body$
      select case refill ->> 'interval'
        when 'daily' then date_trunc('day', until, 'UTC')
        when 'monthly' then (
          select max(refilled_at)
          from generate_series(0, 1) as months_ago,
            lateral (
              select date_trunc('month', until at time zone 'UTC') - make_interval(months => months_ago) as first_day
            ) as month,
            lateral (
              select extract(day from first_day + interval '1 month' - interval '1 day')::integer as last_day
            ) as length,
            lateral (
              select (first_day + make_interval(days => least((refill ->> 'day')::integer, last_day) - 1))
                at time zone 'UTC' as refilled_at
            ) as refills
          where refilled_at <= until
        )
      end $body$`.execute(db);
}

/**
 * - The deletion of a keyspace, also with its workspace, increments its version as an owner and records it for the purge.
 * - Counters of keys and consumers are deleted with them, because no role may delete counters by itself.
 * - Rows are counted in the order of the keyspaces, so that two transactions can't deadlock.
 */
async function createTriggers(db: Kysely<unknown>, schema: string): Promise<void> {
  const [deleted, versions, counts] = ["deleted_keyspaces", "owner_versions", "issued_key_counts"].map(
    (name) => sql.id(schema, name),
  );
  await sql`
    create function record_deleted_keyspace() returns trigger
    language plpgsql as $body$
    begin
      insert into ${deleted} (id, workspace_id) values (old.id, old.workspace_id);
      insert into ${versions} as known (owner_id, version) values (old.id, 1)
      on conflict (owner_id) do update set version = known.version + 1;
      return null;
    end $body$`.execute(db);
  await sql`
    create trigger record_deleted_keyspace after delete on keyspaces
      for each row execute function record_deleted_keyspace()`.execute(db);
  await sql`
    create function count_issued_keys() returns trigger
    language plpgsql as $body$
    begin
      insert into ${counts} as known (workspace_id, keyspace_id, key_count)
      select workspace_id, keyspace_id, case tg_op when 'INSERT' then count(*) else -count(*) end from changed
      group by workspace_id, keyspace_id
      order by keyspace_id
      on conflict (keyspace_id) do update set key_count = known.key_count + excluded.key_count;
      return null;
    end $body$`.execute(db);
  await sql`
    create trigger count_added_issued_keys after insert on issued_keys referencing new table as changed
      for each statement execute function count_issued_keys()`.execute(db);
  await sql`
    create trigger count_deleted_issued_keys after delete on issued_keys referencing old table as changed
      for each statement execute function count_issued_keys()`.execute(db);
  for (const [trigger, table] of [
    ["delete_counters_of_issued_keys", "issued_keys"],
    ["delete_counters_of_consumers", "consumers"],
  ] as const) {
    await sql`
      create trigger ${sql.id(trigger)} after delete on ${sql.table(table)} referencing old table as deleted
        for each statement execute function delete_counters_of_keys()`.execute(db);
  }
}

async function isolateTenants(db: Kysely<unknown>): Promise<void> {
  const tables = {
    keyspaces: {
      tenant: "select, insert, update, delete",
      admission: "select (id, workspace_id, disabled_at)",
    },
    consumers: {
      tenant: "select, insert, update, delete",
      admission: "select (id, keyspace_id, external_id, limits)",
    },
    issued_keys: { tenant: "select, insert, update, delete", admission: "select" },
    retired_issued_secrets: { tenant: "select, insert, update (good_until), delete", admission: "select" },
    // The purge lists the deleted keyspaces of all workspaces.
    deleted_keyspaces: { tenant: "select, insert, delete", admission: "select" },
    issued_key_counts: { tenant: "select, insert, update (key_count), delete", admission: undefined },
  };
  for (const [name, { tenant, admission }] of Object.entries(tables)) {
    const table = sql.table(name);
    await sql`alter table ${table} enable row level security`.execute(db);
    await sql`alter table ${table} force row level security`.execute(db);
    await sql`
      create policy named_workspace on ${table} to latchkey_tenant
      using (workspace_id = named_workspace())`.execute(db);
    await sql`
      create policy backup on ${table} for select to pg_database_owner
      using (require_backup())`.execute(db);
    await sql`grant ${sql.raw(tenant)} on ${table} to latchkey_tenant`.execute(db);
    if (!admission) continue;
    await sql`
      create policy admission on ${table} for select to latchkey_admission using (true)`.execute(db);
    await sql`grant ${sql.raw(admission)} on ${table} to latchkey_admission`.execute(db);
  }
}

/**
 * The balance of an issued key, and the windows of several limits, of issued keys and of consumers. Last, because admission
 * waits from here until the end of the migration.
 */
async function addCredits(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table key_counters
      add column credits bigint,
      add column credits_refilled_at timestamptz,
      add column windows jsonb`.execute(db);
  await sql`
    grant update (credits, credits_refilled_at, windows) on key_counters
    to latchkey_tenant, latchkey_admission`.execute(db);
}

async function renamePermissions(db: Kysely<unknown>): Promise<void> {
  await sql`
    update api_keys set permissions =
      array_replace(array_replace(permissions, 'keys:read', 'api-keys:read'), 'keys:manage', 'api-keys:manage')
    where permissions && array['keys:read', 'keys:manage']`.execute(db);
}
