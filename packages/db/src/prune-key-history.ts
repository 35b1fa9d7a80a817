import { type RawBuilder, sql } from "kysely";
import type { KeyId } from "./ids.ts";
import type { Database, Db, Trx } from "./schema.ts";

export interface PruneStep {
  /**
   * How many days history is kept, by the database's clock. All history of a key is kept this long after the key's
   * deletion. Counts are kept until all of their UTC day is older. The last use of a key is kept until the key is idle.
   */
  readonly keepDays: number;
  /** The most hours to visit; 1,000 by default. A tenth as many keys are visited. */
  readonly maxHours?: number;
  /** Where the previous step stopped. */
  readonly after?: PruneCursor | undefined;
}

/** Where a step stopped. Steps that continue from there visit each hour and each key once. */
export interface PruneCursor {
  /** The last key visited; undefined after the last key of all. */
  readonly keyId: KeyId | undefined;
  /** The last hour visited, and how many of its visited rows were kept; undefined after the last hour that is too old. */
  readonly hours: { readonly hour: Date; readonly keptCount: number } | undefined;
}

/**
 * Performs one step of pruning. Deletes the next hours of API keys, the oldest hours of workspaces and keyspaces, the
 * oldest days, and the oldest rejected verifications. Of the next API keys, deletes addresses and rejected requests that are too old, or all of
 * them if the key was purged or deleted long ago. Skips rows that a node is writing, because they are found in another order
 * than they are written in, and waiting for them could deadlock.
 * @param db a connection in the admission role.
 * @returns the number of rows that were deleted by time, and where the step stopped, undefined after the last hour and key. While
 * another node prunes, changes nothing and returns 0 and `after`.
 */
export async function pruneKeyHistory(
  db: Db,
  { keepDays, maxHours = 1_000, after }: PruneStep,
): Promise<{ readonly hours: number; readonly next: PruneCursor | undefined }> {
  const cutoff = cutoffOf(keepDays);
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ isFree: boolean }>`
      select pg_try_advisory_xact_lock(hashtextextended('latchkey key history', 2)) as "isFree"`.execute(trx);
    if (!rows[0]?.isFree) return { hours: 0, next: after };
    const { count, next: hours } = await pruneNextHours(trx, {
      keepDays,
      after: after?.hours,
      limit: maxHours,
    });
    const others = await pruneOldest(trx, { keepDays, limit: maxHours });
    const visited = await findNextKeys(trx, {
      cutoff,
      after: after?.keyId,
      atMost: Math.ceil(maxHours / 10),
    });
    await deleteOld(trx, { table: "key_addresses", time: "last_seen_at" }, { cutoff, ...visited });
    await deleteOld(trx, { table: "key_refusals", time: "occurred_at" }, { cutoff, ...visited });
    const keyId = visited.next;
    return { hours: count + others, next: keyId || hours ? { keyId, hours } : undefined };
  });
}

/** SQL for the time before which history is too old. In hours, because days have 23 or 25 of them in some time zones. */
function cutoffOf(keepDays: number): RawBuilder<unknown> {
  return sql`now() - make_interval(hours => ${keepDays * 24})`;
}

/**
 * SQL for the start of the UTC day of a time. Counts of hours and of days are deleted by day, so that they add up to the same sums. The
 * maximum idle time counts from the end of the hour of a use, so a use must not be deleted as soon as its hour starts to be too old.
 */
function startOfDay(time: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`date_trunc('day', ${time}, 'UTC')`;
}

/**
 * SQL for whether an hour `old` is the last one in which a key was used in a workspace that doesn't consider the key idle yet, because
 * its maximum idle time is longer than history is kept. Without this hour, a lookup would find that the key is idle, while nodes that
 * remember the key would still allow it. At most one hour per key and workspace is kept, until the key is idle.
 */
const postponesIdleness = sql`
  old.outcome = 'admitted'
  and exists (
    select from api_key_policies policy
    where policy.workspace_id = old.workspace_id
      and old.hour + interval '1 hour' + make_interval(hours => policy.max_idle_days * 24) > now())
  and exists (select from api_keys key where key.id = old.key_id and key.deleted_at is null)
  and not exists (
    select from key_usage_hours later
    where later.workspace_id = old.workspace_id and later.key_id = old.key_id and later.outcome = 'admitted'
      and later.hour > old.hour)`;

/**
 * Deletes the next hours of API keys, except those that {@link postponesIdleness} keeps. Many hours can be kept, and they are the oldest
 * ones: a step that visited them again would exceed the statement timeout. Rows of the same hour have no order, so the next step skips
 * as many of them as were kept. If it skips others, the steps that start again at the oldest hour delete these.
 * @returns how many rows it deleted.
 */
async function pruneNextHours(
  trx: Trx,
  { keepDays, after, limit }: { keepDays: number; after: PruneCursor["hours"]; limit: number },
): Promise<{ readonly count: number; readonly next: PruneCursor["hours"] }> {
  const { rows } = await sql<{ visited: number; deleted: number; hour: Date | null; kept: number }>`
    with visited as materialized (
      select ctid, key_id, hour, workspace_id, outcome from key_usage_hours
      where hour < ${startOfDay(cutoffOf(keepDays))} and hour >= ${after?.hour ?? "-infinity"}
      order by hour offset ${after?.keptCount ?? 0} limit ${limit}
    ), deleted as (
      delete from key_usage_hours where ctid = any(array(
        select ctid from key_usage_hours
        where ctid = any(array(select ctid from visited old where not (${postponesIdleness})))
        for update skip locked
      )) returning hour
    ), latest as (select max(hour) as hour from visited)
    select hour, (select count(*) from visited) as visited, (select count(*) from deleted) as deleted,
      (select count(*) from visited where hour = latest.hour)
        - (select count(*) from deleted where hour = latest.hour) as kept
    from latest`.execute(trx);
  const [row] = rows;
  if (!row?.hour) return { count: 0, next: undefined };
  const { visited, deleted, hour, kept } = row;
  const keptBefore = hour.getTime() === after?.hour.getTime() ? after.keptCount : 0;
  return { count: deleted, next: visited < limit ? undefined : { hour, keptCount: keptBefore + kept } };
}

/** Tables whose rows are deleted by time, with the column that an index finds the oldest rows by. */
const oldestFirst = [
  { table: "workspace_usage_hours", time: "hour" },
  { table: "workspace_key_days", time: "day" },
  { table: "keyspace_usage_hours", time: "hour" },
  { table: "keyspace_usage_days", time: "day" },
  { table: "keyspace_tag_hours", time: "hour" },
  { table: "issued_key_rejections", time: "occurred_at" },
] as const satisfies readonly { readonly table: keyof Database; readonly time: string }[];

/**
 * Deletes the oldest rows of each table.
 * @returns how many rows it deleted.
 */
async function pruneOldest(
  trx: Trx,
  { keepDays, limit }: { readonly keepDays: number; readonly limit: number },
): Promise<number> {
  const cutoff = cutoffOf(keepDays);
  const until = {
    hour: startOfDay(cutoff),
    day: sql`((${cutoff}) at time zone 'UTC')::date`,
    occurred_at: cutoff,
  };
  let count = 0;
  for (const { table, time } of oldestFirst) {
    const { numAffectedRows = 0n } = await sql`
      delete from ${sql.table(table)} where ctid = any(array(
        select ctid from ${sql.table(table)} where ${sql.ref(time)} < ${until[time]}
        order by ${sql.ref(time)} limit ${limit} for update skip locked
      ))`.execute(trx);
    count += Number(numAffectedRows);
  }
  return count;
}

interface VisitedKeys {
  readonly keyIds: readonly KeyId[];
  /** Those of them that were purged or deleted long ago. */
  readonly deletedKeyIds: readonly KeyId[];
  readonly next: KeyId | undefined;
}

async function deleteOld(
  trx: Trx,
  { table, time }: { readonly table: "key_addresses" | "key_refusals"; readonly time: string },
  { cutoff, keyIds, deletedKeyIds }: VisitedKeys & { readonly cutoff: RawBuilder<unknown> },
): Promise<void> {
  await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select ctid from ${sql.table(table)}
      where key_id = any(${keyIds}::uuid[])
        and (${sql.ref(time)} < ${cutoff} or key_id = any(${deletedKeyIds}::uuid[]))
      for update skip locked
    ))`.execute(trx);
}

/** Finds the next keys that have addresses or rejected requests, in the order of their IDs. */
async function findNextKeys(
  trx: Trx,
  step: { readonly cutoff: RawBuilder<unknown>; readonly after: KeyId | undefined; readonly atMost: number },
): Promise<VisitedKeys> {
  const { cutoff, after = "00000000-0000-0000-0000-000000000000", atMost } = step;
  const next = (table: string) => sql`
    (select distinct key_id from ${sql.table(table)} where key_id > ${after} order by 1 limit ${atMost})`;
  const { rows } = await sql<{ keyId: KeyId; hasExpired: boolean }>`
    select key_id as "keyId", not exists (
        select from api_keys where id = key_id and (deleted_at is null or deleted_at >= ${cutoff})
      ) as "hasExpired"
    from (${next("key_addresses")} union ${next("key_refusals")} order by 1 limit ${atMost}) seen
    order by 1`.execute(trx);
  const deletedKeyIds = rows.flatMap(({ keyId, hasExpired }) => (hasExpired ? [keyId] : []));
  return {
    keyIds: rows.map(({ keyId }) => keyId),
    deletedKeyIds,
    next: rows.length < atMost ? undefined : rows.at(-1)?.keyId,
  };
}
