import type { KeyspaceId } from "@latchkey/db/ids";
import type pg from "pg";

/**
 * Adds keys to a keyspace with SQL until there are `count`, each with an old secret, and with a consumer for every three of
 * them. The newest half has a permission that the oldest half lacks. Nine in ten keys were used recently.
 */
export async function seedKeys(client: pg.Client, keyspaceId: KeyspaceId, count: number): Promise<void> {
  await client.query(
    `insert into consumers (workspace_id, keyspace_id, id, external_id, created_at)
    select workspace_id, id, uuidv7(), 'customer_' || n, now() - ($2 - n) * interval '1 second'
    from keyspaces, generate_series(0, $2::int / 3) n where id = $1
    on conflict do nothing`,
    [keyspaceId, count],
  );
  await client.query(
    `insert into issued_keys
      (workspace_id, keyspace_id, id, consumer_id, hash, start, name, permissions, expires_at, disabled_at, created_at)
    select consumers.workspace_id, keyspace_id, uuidv7(), consumers.id, sha256(n::text::bytea),
      'sk_live_' || substr(md5(n::text), 1, 6), 'Key ' || n,
      array['documents.read'] || case when n > $2 / 2 then array['documents.write'] else '{}' end
        || case when n % ($2 / 10) = 0 then array['admin'] else '{}' end,
      case when n % 100 = 1 then now() - interval '1 day' when n % 3 = 0 then now() + n * interval '1 minute' end,
      case when n % 100 = 2 then now() end,
      now() - interval '40 days' - ($2 - n) * interval '1 second'
    from generate_series((select count(*) + 1 from issued_keys), $2::int) n
    join consumers on keyspace_id = $1 and external_id = 'customer_' || n / 3`,
    [keyspaceId, count],
  );
  await client.query(`
    insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
    select sha256(hash), workspace_id, keyspace_id, id, 'sk_old_' || right(start, 6), now() + interval '1 day' from issued_keys
    on conflict do nothing`);
  await client.query(`
    insert into key_counters (key_id, credits, credits_refilled_at, use_count)
    select id, case when right(name, 3) = '000' then 0 end, now(), 1 from issued_keys
    union all select id, null, null, 0 from consumers
    on conflict do nothing`);
  // Keys are first used in another order than they were created in. The oldest ones are among them, so that unused keys are found late.
  await client.query(`
    insert into issued_key_uses (key_id, version, use_count, last_used_at)
    select id, counter.version, 1, now() from issued_keys join key_counters counter on counter.key_id = id
    where credits is null and right(name, 1) <> '7'
    order by hash
    on conflict do nothing`);
  await client.query("vacuum (analyze)");
}

/** The days of verifications that {@link seedUsage} adds. */
const usageDays = 90;

/**
 * Adds verifications of the last 90 days with SQL: of 20,000 keys and their consumers on each day, of other keys from day
 * to day, and of the keyspace and its workspace in every hour. The 2,000 busiest keys are used in every hour of the last
 * day.
 */
export async function seedUsage(client: pg.Client, keyspaceId: KeyspaceId): Promise<void> {
  await client.query("truncate keyspace_usage_hours, keyspace_usage_days, keyspace_tag_hours");
  await client.query(
    `insert into keyspace_usage_days
      (workspace_id, keyspace_id, subject_id, is_consumer, day, count, use_count, magnitude)
    select workspace_id, keyspace_id, subject, subject <> id, day, count, count - 1, floor(log(2, count))
    from (
      select workspace_id, keyspace_id, id, consumer_id, row_number() over (order by created_at) as place
      from issued_keys where keyspace_id = $1
    ) key
    cross join generate_series(0, $2::int - 1) ago
    cross join lateral (select now()::date - ago as day, 2 + place % 10000 as count) used
    cross join lateral unnest(case when place % 3 = 0 then array[id, consumer_id] else array[id] end) subject
    where place between ago * 100 and ago * 100 + 20000
    on conflict do nothing`,
    [keyspaceId, usageDays],
  );
  await client.query(
    `insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select workspace_id, subject_id, day::timestamptz + make_interval(hours => hour), 'VALID', count / 24 + 1
    from keyspace_usage_days cross join generate_series(0, 23) hour
    where day >= now()::date - 1 and count >= 8000
    on conflict do nothing`,
  );
  await client.query(
    `insert into keyspace_usage_hours (workspace_id, subject_id, hour, outcome, count)
    select workspace_id, subject, hour, outcome, 1000
    from keyspaces
    cross join unnest(array[id, workspace_id]) subject
    cross join generate_series(date_trunc('hour', now()) - $2::int * interval '1 day', now(), '1 hour') hour
    cross join unnest(array['VALID', 'CHECKED', 'RATE_LIMITED', 'EXPIRED', 'FORBIDDEN']) outcome
    where id = $1`,
    [keyspaceId, usageDays],
  );
  await client.query(
    `insert into keyspace_tag_hours (workspace_id, keyspace_id, hour, tag, count, use_count)
    select workspace_id, id, hour, 'tag ' || n, n, n - 1
    from keyspaces
    cross join generate_series(date_trunc('hour', now()) - $2::int * interval '1 day', now(), '1 hour') hour
    cross join generate_series(1, 100) n
    where id = $1`,
    [keyspaceId, usageDays],
  );
  await client.query("vacuum (analyze)");
}
