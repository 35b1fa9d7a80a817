import { type RawBuilder, sql } from "kysely";
import type { KeyId, KeyRejectionId, UserId, WorkspaceId } from "./ids.ts";
import type { Db, Trx } from "./schema.ts";
import { bucketsAsSql, type UsageBuckets } from "./usage-buckets.ts";
import type { UserTrx } from "./workspace-scope.ts";

/** The number of requests with a key that had one outcome in one hour. */
export interface HourUsage {
  readonly keyId: KeyId;
  /** When the hour begins, in UTC. */
  readonly hour: Date;
  /** Null for requests that belong to no workspace. */
  readonly workspaceId: WorkspaceId | null;
  readonly outcome: string;
  readonly count: number;
}

/** An address that a key was used from. The time is accurate to one minute. */
export interface KeyAddress {
  readonly address: string;
  readonly lastSeenAt: Date;
}

/** A rejected request with a key. */
export interface KeyRejection {
  readonly id: KeyRejectionId;
  readonly occurredAt: Date;
  readonly address: string | null;
  readonly method: string;
  readonly path: string;
  readonly requestId: string;
  readonly reason: string;
}

/** What a node has recorded about keys since its last write. A row may occur more than once. */
export interface KeyHistory {
  readonly usage: readonly HourUsage[];
  readonly addresses: readonly (KeyAddress & {
    readonly keyId: KeyId;
    /** The network of the address; null or omitted for an address that can't be parsed. */
    readonly network?: string | null;
  })[];
  readonly rejections: readonly (KeyRejection & { readonly keyId: KeyId })[];
  /** Old secrets, by digest in base64: when they were last used, or rejected because their overlap had ended. */
  readonly secrets: readonly {
    readonly digest: string;
    readonly usedAt: Date | null;
    readonly rejectedAt: Date | null;
    readonly rejectedAddress: string | null;
  }[];
}

/** How many of the newest rows are kept per key. */
const limits = {
  key_addresses: { column: "address", newestFirst: sql`last_seen_at desc, address`, count: 5 },
  key_refusals: { column: "id", newestFirst: sql`id desc`, count: 100 },
};

/**
 * Writes the history that a node recorded, all of it or nothing. Rows are written in the order of their keys, one table
 * after the other, so that two nodes can wait for each other but can't deadlock. If two nodes write about one key at
 * the same time, more rows than `limits` allows may remain. The next write about that key deletes them.
 * @param db a connection in the admission role.
 * @throws what the driver throws, including when a row stays locked for half a second.
 */
export async function writeKeyHistory(db: Db, history: KeyHistory): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`select set_config('lock_timeout', '500ms', true)`.execute(trx);
    if (history.usage.length > 0) await addUsage(trx, history.usage);
    if (history.addresses.length > 0) await putAddresses(trx, history.addresses);
    if (history.addresses.length > 0) await putNetworks(trx, history.addresses);
    if (history.rejections.length > 0) await putRejections(trx, history.rejections);
    if (history.secrets.length > 0) await markSecrets(trx, history.secrets);
    if (history.usage.length > 0) await addWorkspaceUsage(trx, history.usage);
  });
}

const usageColumns = {
  keyId: "uuid",
  hour: "timestamptz",
  workspaceId: "uuid",
  outcome: "text",
  count: "bigint",
} as const;

async function addUsage(trx: Trx, rows: KeyHistory["usage"]): Promise<void> {
  const input = asTable(rows, usageColumns);
  // Prevents the triggers for earlier versions from adding the same rows to the rollups of workspaces.
  await sql`select set_config('latchkey.adds_workspace_usage', 'on', true)`.execute(trx);
  await sql`
    insert into key_usage_hours as known (key_id, hour, workspace_id, outcome, count)
    select "keyId", hour, "workspaceId", outcome, sum(count) from ${input}
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    on conflict (key_id, hour, workspace_id, outcome) do update set count = known.count + excluded.count`.execute(
    trx,
  );
}

/**
 * Adds the usage to the rollups of its workspaces. Runs last, because all nodes add to the same rows, which stay locked
 * until the commit.
 */
async function addWorkspaceUsage(trx: Trx, rows: KeyHistory["usage"]): Promise<void> {
  const inWorkspaces = rows.filter(({ workspaceId }) => workspaceId !== null);
  if (inWorkspaces.length === 0) return;
  await sql`select add_workspace_usage(${sql.join(asArrays(inWorkspaces, usageColumns))})`.execute(trx);
}

const addressColumns = {
  keyId: "uuid",
  address: "text",
  network: "text",
  lastSeenAt: "timestamptz",
} as const;

async function putAddresses(trx: Trx, rows: KeyHistory["addresses"]): Promise<void> {
  const input = asTable(rows, addressColumns);
  await sql`
    insert into key_addresses as known (key_id, address, last_seen_at)
    select "keyId", address, max("lastSeenAt") from ${input}
    group by 1, 2
    order by 1, 2
    on conflict (key_id, address) do update
      set last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)`.execute(trx);
  await deleteSurplus(trx, "key_addresses", input);
}

/** How long a network is remembered after the last use of the key from it, in days. */
export const networkLifetimeDays = 90;

/**
 * How many networks are remembered per key. The owner of a key that is used from more networks than this gets no more
 * notices about new ones.
 */
const maxNetworks = 100;

/** Remembers the networks of addresses, and renews those that were last seen more than a day ago. */
async function putNetworks(trx: Trx, rows: KeyHistory["addresses"]): Promise<void> {
  const input = asTable(rows, addressColumns);
  await sql`
    insert into key_networks as known (key_id, network, first_seen_at, last_seen_at)
    select seen.key_id, seen.network, seen.at, seen.at
    from (
      select "keyId" as key_id, network, max("lastSeenAt") as at from ${input}
      where network is not null group by 1, 2
    ) seen
    left join key_networks old using (key_id, network)
    where case when old.key_id is null
      then (select count(*) from key_networks other where other.key_id = seen.key_id) < ${maxNetworks}
      else old.last_seen_at < seen.at - interval '1 day' end
    order by 1, 2
    on conflict (key_id, network) do update
      set last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)`.execute(trx);
}

async function putRejections(trx: Trx, rows: KeyHistory["rejections"]): Promise<void> {
  const input = asTable(rows, {
    keyId: "uuid",
    id: "uuid",
    occurredAt: "timestamptz",
    address: "text",
    method: "text",
    path: "text",
    requestId: "text",
    reason: "text",
  });
  await sql`
    insert into key_refusals (key_id, id, occurred_at, address, method, path, request_id, reason)
    select "keyId", id, "occurredAt", address, method, path, "requestId", reason from ${input}
    order by "keyId", id
    on conflict (key_id, id) do nothing`.execute(trx);
  await deleteSurplus(trx, "key_refusals", input);
}

/**
 * Deletes all but the newest rows of each key in `input`. Skips rows that another node has locked, because that node is
 * deleting or writing them.
 */
async function deleteSurplus(trx: Trx, name: keyof typeof limits, input: RawBuilder<unknown>): Promise<void> {
  const { newestFirst, count } = limits[name];
  const [table, column] = [sql.table(name), sql.ref(limits[name].column)];
  await sql`
    with surplus as (
      select touched.key_id, old.${column}
      from (select distinct "keyId" as key_id from ${input}) touched
      cross join lateral (
        select ${column} from ${table} where key_id = touched.key_id order by ${newestFirst} offset ${count}
      ) old
    ),
    locked as materialized (
      select history.key_id, history.${column} from ${table} history
      join surplus using (key_id, ${column})
      order by 1, 2
      for update of history skip locked
    )
    delete from ${table} where (key_id, ${column}) in (select * from locked)`.execute(trx);
}

/** Locks all rows first, in the order of their hashes, because an update does not guarantee any order. */
async function markSecrets(trx: Trx, rows: KeyHistory["secrets"]): Promise<void> {
  const input = asTable(rows, {
    digest: "text",
    usedAt: "timestamptz",
    rejectedAt: "timestamptz",
    rejectedAddress: "text",
  });
  await sql`
    select from retired_secrets where hash in (select decode(digest, 'base64') from ${input})
    order by hash for no key update`.execute(trx);
  await sql`
    update retired_secrets set last_used_at = greatest(last_used_at, latest.at)
    from (select digest, max("usedAt") as at from ${input} group by 1) latest
    where hash = decode(digest, 'base64') and latest.at is not null`.execute(trx);
  await sql`
    update retired_secrets set refused_at = latest.at, refused_address = latest.address
    from (
      select distinct on (digest) digest, "rejectedAt" as at, "rejectedAddress" as address from ${input}
      where "rejectedAt" is not null order by digest, "rejectedAt" desc
    ) latest
    where hash = decode(digest, 'base64') and (refused_at is null or refused_at < latest.at)`.execute(trx);
}

type ColumnTypes<Row> = {
  readonly [Column in keyof Row & string]: "uuid" | "text" | "timestamptz" | "bigint";
};

/** SQL for a table `items` with one row per item and columns of these types. */
function asTable<Row extends object>(rows: readonly Row[], types: ColumnTypes<Row>): RawBuilder<unknown> {
  const columns = Object.keys(types).map((name) => sql.ref(name));
  return sql`unnest(${sql.join(asArrays(rows, types))}) as items (${sql.join(columns)})`;
}

/** SQL for one array per column of these types. */
function asArrays<Row extends object>(rows: readonly Row[], types: ColumnTypes<Row>): RawBuilder<unknown>[] {
  const columns = Object.keys(types) as (keyof typeof types)[]; // The object has exactly these keys.
  return columns.map((name) => sql`${rows.map((row) => row[name])}::${sql.raw(types[name])}[]`);
}

/** The number of requests with a key that had one outcome in the hour or day that starts at `startsAt`, in UTC. */
export type UsageBucket = Omit<HourUsage, "keyId" | "hour"> & { readonly startsAt: Date };

export interface UsagePeriod {
  readonly keyId: KeyId;
  /** Only hours that start at or after `from`, and before `to`. */
  readonly from: Date;
  readonly to: Date;
  readonly bucket: "hour" | "day";
}

/**
 * The first `limit` outcomes of requests with one of the user's own keys, oldest first. Row-level security hides the
 * keys of other users.
 */
export async function readKeyUsage(
  trx: UserTrx,
  period: UsagePeriod & { readonly limit: number },
): Promise<UsageBucket[]> {
  const { rows } = await sql<UsageBucket>`
    select date_trunc(${period.bucket}, hour, 'UTC') as "startsAt", workspace_id as "workspaceId", outcome,
      sum(count)::bigint as count
    from key_usage_hours
    where key_id = ${period.keyId} and hour >= ${period.from} and hour < ${period.to}
    group by 1, 2, 3
    order by 1, 2, 3
    limit ${period.limit}`.execute(trx);
  return rows;
}

/** The outcomes of requests with one of the user's own keys, added up over all workspaces, oldest first. */
export async function readKeyUsageInBuckets(
  trx: UserTrx,
  keyId: KeyId,
  buckets: UsageBuckets,
): Promise<Omit<UsageBucket, "workspaceId">[]> {
  const { startsAt, isInRange } = bucketsAsSql(buckets);
  const { rows } = await sql<Omit<UsageBucket, "workspaceId">>`
    select ${startsAt} as "startsAt", outcome, sum(count)::bigint as count
    from key_usage_hours
    where key_id = ${keyId} and ${isInRange}
    group by 1, 2
    order by 1, 2`.execute(trx);
  return rows;
}

/**
 * The last rejected requests of a key, at most 100, newest first. The caller must have checked that the reader owns the
 * key.
 */
export async function listKeyRejections(db: Db, keyId: KeyId): Promise<KeyRejection[]> {
  return await selectRejections(db).where("key_refusals.key_id", "=", keyId).execute();
}

/**
 * The last addresses of a key, at most five, newest first. The caller must have checked that the reader owns the key.
 */
export async function listKeyAddresses(db: Db, keyId: KeyId): Promise<KeyAddress[]> {
  return await db
    .selectFrom("key_addresses")
    .select(["address", "last_seen_at as lastSeenAt"])
    .where("key_id", "=", keyId)
    .orderBy(sql`last_seen_at desc, address`)
    .limit(limits.key_addresses.count)
    .execute();
}

/**
 * Finds rejected requests with this request ID and keys of this user: the last 100, newest first. Clients choose
 * request IDs, so there can be several.
 */
export async function findOwnRejections(
  db: Db,
  userId: UserId,
  requestId: string,
): Promise<(KeyRejection & { keyId: KeyId; keyName: string; isKeyDeleted: boolean })[]> {
  return await selectRejections(db)
    .innerJoin("api_keys", "api_keys.id", "key_refusals.key_id")
    .select(["api_keys.id as keyId", "api_keys.name as keyName"])
    .select(sql<boolean>`api_keys.deleted_at is not null`.as("isKeyDeleted"))
    .where("key_refusals.request_id", "=", requestId)
    .where("api_keys.user_id", "=", userId)
    .execute();
}

function selectRejections(db: Db) {
  return db
    .selectFrom("key_refusals")
    .select([
      "key_refusals.id",
      "key_refusals.occurred_at as occurredAt",
      "key_refusals.address",
      "key_refusals.method",
      "key_refusals.path",
      "key_refusals.request_id as requestId",
      "key_refusals.reason",
    ])
    .orderBy("key_refusals.id", "desc")
    .limit(limits.key_refusals.count);
}

export interface PruneStep {
  /**
   * How many days history is kept, by the database's clock. All history of a key is kept this long after the key's
   * deletion.
   */
  readonly keepDays: number;
  /** The most hours to delete; 1,000 by default. A tenth as many keys are visited. */
  readonly maxHours?: number;
  /** The key at which the previous step stopped. */
  readonly after?: KeyId | undefined;
}

/**
 * Performs one step of pruning. Deletes the oldest hours, of keys and of workspaces, and the oldest days. Of the next keys, deletes addresses and rejected requests
 * that are too old, or all of them if the key was purged or deleted long ago. Skips rows that a node is writing,
 * because they are found in another order than they are written in, and waiting for them could deadlock.
 * @param db a connection in the admission role.
 * @returns the number of deleted hours and days, and the last key visited, undefined after the last key of all. While another
 *   node prunes, changes nothing and returns 0 and `after`.
 */
export async function pruneKeyHistory(
  db: Db,
  { keepDays, maxHours = 1_000, after }: PruneStep,
): Promise<{ readonly hours: number; readonly next: KeyId | undefined }> {
  const cutoff = sql`now() - make_interval(days => ${keepDays})`;
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ isFree: boolean }>`
      select pg_try_advisory_xact_lock(hashtextextended('latchkey key history', 2)) as "isFree"`.execute(trx);
    if (!rows[0]?.isFree) return { hours: 0, next: after };
    const { numAffectedRows = 0n } = await sql`
      delete from key_usage_hours where ctid = any(array(
        select ctid from key_usage_hours where hour < ${cutoff} order by hour limit ${maxHours}
      ))`.execute(trx);
    const rollups = await pruneWorkspaceUsage(trx, { keepDays, limit: maxHours });
    const visited = await findNextKeys(trx, { cutoff, after, atMost: Math.ceil(maxHours / 10) });
    await deleteOld(trx, { table: "key_addresses", time: "last_seen_at" }, { cutoff, ...visited });
    await deleteOld(trx, { table: "key_refusals", time: "occurred_at" }, { cutoff, ...visited });
    return { hours: Number(numAffectedRows) + rollups, next: visited.next };
  });
}

/**
 * Deletes the oldest rows of the rollups of workspaces. A day is kept until its last hour is too old.
 * @returns how many rows it deleted.
 */
async function pruneWorkspaceUsage(
  trx: Trx,
  { keepDays, limit }: { readonly keepDays: number; readonly limit: number },
): Promise<number> {
  const cutoff = sql`now() - make_interval(days => ${keepDays})`;
  const hours = await sql`
    delete from workspace_usage_hours where ctid = any(array(
      select ctid from workspace_usage_hours where hour < ${cutoff}
      order by hour limit ${limit} for update skip locked
    ))`.execute(trx);
  const days = await sql`
    delete from workspace_key_days where ctid = any(array(
      select ctid from workspace_key_days where day < ((${cutoff}) at time zone 'UTC')::date
      order by day limit ${limit} for update skip locked
    ))`.execute(trx);
  return Number((hours.numAffectedRows ?? 0n) + (days.numAffectedRows ?? 0n));
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
  const { rows } = await sql<{ keyId: KeyId; isGone: boolean }>`
    select key_id as "keyId", not exists (
        select from api_keys where id = key_id and (deleted_at is null or deleted_at >= ${cutoff})
      ) as "isGone"
    from (${next("key_addresses")} union ${next("key_refusals")} order by 1 limit ${atMost}) seen
    order by 1`.execute(trx);
  const deletedKeyIds = rows.flatMap(({ keyId, isGone }) => (isGone ? [keyId] : []));
  return {
    keyIds: rows.map(({ keyId }) => keyId),
    deletedKeyIds,
    next: rows.length < atMost ? undefined : rows.at(-1)?.keyId,
  };
}
