import { type Kysely, sql } from "kysely";

/**
 * The requests of a workspace, added up over its keys by hour, and those of each of its keys, added up by day. Without
 * them, the statistics of a workspace read every hour of every key.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema()::text as schema`.execute(db);
  await createTables(db);
  await createFunctions(db, rows[0]?.schema ?? "public");
  await backfill(db);
  await createTriggers(db);
  await isolateTenants(db);
}

/**
 * No foreign keys, like the history. The fill factors leave room for updates in place, because no index contains what
 * the updates change.
 */
async function createTables(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table workspace_usage_hours (
      workspace_id uuid not null,
      hour timestamptz not null,
      outcome text not null,
      count bigint not null,
      primary key (workspace_id, hour, outcome)
    ) with (fillfactor = 80)`.execute(db);
  await sql`create index workspace_usage_hours_hour on workspace_usage_hours (hour)`.execute(db);
  await sql`
    create table workspace_key_days (
      workspace_id uuid not null,
      key_id uuid not null,
      day date not null,
      use_count bigint not null,
      last_used_at timestamptz not null,
      primary key (workspace_id, key_id, day)
    ) with (fillfactor = 80)`.execute(db);
  await sql`create index workspace_key_days_day on workspace_key_days (workspace_id, day)`.execute(db);
  await sql`create index workspace_key_days_expiry on workspace_key_days (day)`.execute(db);
}

/**
 * `add_workspace_usage` increments both tables. Rows are locked in the order of their primary keys, one table after the
 * other, so that two nodes can't deadlock. The trigger functions call it with what a statement added to the history.
 */
async function createFunctions(db: Kysely<unknown>, schema: string): Promise<void> {
  const [hours, days, add] = ["workspace_usage_hours", "workspace_key_days", "add_workspace_usage"].map(
    (name) => sql.id(schema, name),
  );
  await sql`
    create function add_workspace_usage(
      key_ids uuid[], hours timestamptz[], workspace_ids uuid[], outcomes text[], counts bigint[]
    ) returns void
    language plpgsql as $body$
    begin
      insert into ${days} as known (workspace_id, key_id, day, use_count, last_used_at)
      select added.workspace_id, added.key_id, (added.hour at time zone 'UTC')::date, sum(added.count), max(added.hour)
      from unnest(key_ids, hours, workspace_ids, outcomes, counts)
        as added (key_id, hour, workspace_id, outcome, count)
      where added.workspace_id is not null and added.outcome = 'admitted'
      group by 1, 2, 3
      order by 1, 2, 3
      on conflict (workspace_id, key_id, day) do update
        set use_count = known.use_count + excluded.use_count,
          last_used_at = greatest(known.last_used_at, excluded.last_used_at);
      insert into ${hours} as known (workspace_id, hour, outcome, count)
      select added.workspace_id, added.hour, added.outcome, sum(added.count)
      from unnest(hours, workspace_ids, outcomes, counts) as added (hour, workspace_id, outcome, count)
      where added.workspace_id is not null
      group by 1, 2, 3
      order by 1, 2, 3
      on conflict (workspace_id, hour, outcome) do update set count = known.count + excluded.count;
    end $body$`.execute(db);
  await sql`
    create function roll_up_added_usage() returns trigger
    language plpgsql as $body$
    begin
      perform ${add}(array_agg(key_id), array_agg(hour), array_agg(workspace_id), array_agg(outcome), array_agg(count))
      from added;
      return null;
    end $body$`.execute(db);
  await sql`
    create function roll_up_increased_usage() returns trigger
    language plpgsql as $body$
    begin
      perform ${add}(
        array_agg(increased.key_id), array_agg(increased.hour), array_agg(increased.workspace_id),
        array_agg(increased.outcome), array_agg(increased.count - former.count)
      )
      from increased
      join former on former.key_id = increased.key_id and former.hour = increased.hour
        and former.workspace_id = increased.workspace_id and former.outcome = increased.outcome;
      return null;
    end $body$`.execute(db);
}

/**
 * Adds the existing history. The lock keeps nodes from writing history until the triggers exist, and doesn't block
 * readers: nodes keep what they can't write. Each statement adds one day, which bounds its memory. The setting lets the
 * owner of the database read the history in spite of row-level security, without a lock that would block readers.
 */
async function backfill(db: Kysely<unknown>): Promise<void> {
  await sql`lock table key_usage_hours in share row exclusive mode`.execute(db);
  await sql`select set_config('latchkey.backup', 'on', true)`.execute(db);
  await sql`
    do $body$
    declare
      -- Also the end, if there is no history.
      start timestamptz := (select date_trunc('day', min(hour), 'UTC') from key_usage_hours);
      latest timestamptz := (select max(hour) from key_usage_hours);
    begin
      while start <= latest loop
        insert into workspace_usage_hours (workspace_id, hour, outcome, count)
        select workspace_id, hour, outcome, sum(count) from key_usage_hours
        where hour >= start and hour < start + interval '24 hours' and workspace_id is not null
        group by 1, 2, 3;
        insert into workspace_key_days (workspace_id, key_id, day, use_count, last_used_at)
        select workspace_id, key_id, (start at time zone 'UTC')::date, sum(count), max(hour) from key_usage_hours
        where hour >= start and hour < start + interval '24 hours' and workspace_id is not null
          and outcome = 'admitted'
        group by 1, 2;
        -- The next day that has history, so that a wrong clock in the past doesn't make this loop long.
        start := (
          select date_trunc('day', min(hour), 'UTC') from key_usage_hours where hour >= start + interval '24 hours');
      end loop;
    end $body$`.execute(db);
  await sql`select set_config('latchkey.backup', '', true)`.execute(db);
}

/**
 * For nodes of earlier versions, which don't call `add_workspace_usage`. They add to the same rows in two steps, so they
 * can wait for each other until one gives up, keeps its data and tries again. Later versions announce that they call
 * the function themselves.
 */
async function createTriggers(db: Kysely<unknown>): Promise<void> {
  const isEarlierVersion = sql`current_setting('latchkey.adds_workspace_usage', true) is distinct from 'on'`;
  await sql`
    create trigger roll_up_added_usage after insert on key_usage_hours referencing new table as added
      for each statement when (${isEarlierVersion}) execute function roll_up_added_usage()`.execute(db);
  await sql`
    create trigger roll_up_increased_usage after update on key_usage_hours
      referencing old table as former new table as increased
      for each statement when (${isEarlierVersion}) execute function roll_up_increased_usage()`.execute(db);
}

async function isolateTenants(db: Kysely<unknown>): Promise<void> {
  for (const name of ["workspace_usage_hours", "workspace_key_days"]) {
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
