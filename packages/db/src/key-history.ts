import { type RawBuilder, sql } from "kysely";
import type { KeyId, KeyRefusalId, UserId, WorkspaceId } from "./ids.ts";
import type { Db, Trx } from "./schema.ts";
import { bucketsAsSql, type UsageBuckets } from "./usage-buckets.ts";
import type { UserTrx } from "./workspace-scope.ts";

/** How many requests with a key had an outcome in an hour. */
export interface HourUsage {
  readonly keyId: KeyId;
  /** When the hour begins, in UTC. */
  readonly hour: Date;
  /** Null for what belongs to no workspace. */
  readonly workspaceId: WorkspaceId | null;
  readonly outcome: string;
  readonly count: number;
}

/** Where a key was used from; the time is good to a minute. */
export interface KeyAddress {
  readonly address: string;
  readonly lastSeenAt: Date;
}

/** A request with a key that was refused. */
export interface KeyRefusal {
  readonly id: KeyRefusalId;
  readonly occurredAt: Date;
  readonly address: string | null;
  readonly method: string;
  readonly path: string;
  readonly requestId: string;
  readonly reason: string;
}

/** What a node has to tell of its keys, with counts since it last told. A row may come more than once. */
export interface KeyHistory {
  readonly usage: readonly HourUsage[];
  readonly addresses: readonly (KeyAddress & { readonly keyId: KeyId })[];
  readonly refusals: readonly (KeyRefusal & { readonly keyId: KeyId })[];
  /** Former secrets, by digest in base64: when they were last admitted, or refused because their overlap was over. */
  readonly secrets: readonly {
    readonly digest: string;
    readonly usedAt: Date | null;
    readonly refusedAt: Date | null;
    readonly refusedAddress: string | null;
  }[];
}

/** Of each key the newest so many rows are kept. */
const kept = {
  key_addresses: { column: "address", newestFirst: sql`last_seen_at desc, address`, count: 5 },
  key_refusals: { column: "id", newestFirst: sql`id desc`, count: 100 },
};

/**
 * Writes what a node has to tell, all of it or nothing. Rows are written in the order of their keys, one table after the
 * other, so that two nodes wait for each other and never in a circle. Two that write of one key at once may leave
 * more than its last addresses and refusals; the next that writes of it cuts them.
 * @param db a connection in the admission role.
 * @throws what the driver throws, also when a row stays locked for half a second.
 */
export async function writeKeyHistory(db: Db, history: KeyHistory): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`select set_config('lock_timeout', '500ms', true)`.execute(trx);
    if (history.usage.length > 0) await addUsage(trx, history.usage);
    if (history.addresses.length > 0) await putAddresses(trx, history.addresses);
    if (history.refusals.length > 0) await putRefusals(trx, history.refusals);
    if (history.secrets.length > 0) await markSecrets(trx, history.secrets);
  });
}

async function addUsage(trx: Trx, rows: KeyHistory["usage"]): Promise<void> {
  const told = tell(rows, {
    keyId: "uuid",
    hour: "timestamptz",
    workspaceId: "uuid",
    outcome: "text",
    count: "bigint",
  });
  await sql`
    insert into key_usage_hours as known (key_id, hour, workspace_id, outcome, count)
    select "keyId", hour, "workspaceId", outcome, sum(count) from ${told}
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    on conflict (key_id, hour, workspace_id, outcome) do update set count = known.count + excluded.count`.execute(
    trx,
  );
}

async function putAddresses(trx: Trx, rows: KeyHistory["addresses"]): Promise<void> {
  const told = tell(rows, { keyId: "uuid", address: "text", lastSeenAt: "timestamptz" });
  await sql`
    insert into key_addresses as known (key_id, address, last_seen_at)
    select "keyId", address, max("lastSeenAt") from ${told}
    group by 1, 2
    order by 1, 2
    on conflict (key_id, address) do update
      set last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)`.execute(trx);
  await cut(trx, "key_addresses", told);
}

async function putRefusals(trx: Trx, rows: KeyHistory["refusals"]): Promise<void> {
  const told = tell(rows, {
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
    select "keyId", id, "occurredAt", address, method, path, "requestId", reason from ${told}
    order by "keyId", id
    on conflict (key_id, id) do nothing`.execute(trx);
  await cut(trx, "key_refusals", told);
}

/** Leaves each key that is told of its newest rows. What another node has locked it is cutting or writing itself. */
async function cut(trx: Trx, name: keyof typeof kept, told: RawBuilder<unknown>): Promise<void> {
  const { newestFirst, count } = kept[name];
  const [table, column] = [sql.table(name), sql.ref(kept[name].column)];
  await sql`
    with surplus as (
      select touched.key_id, old.${column}
      from (select distinct "keyId" as key_id from ${told}) touched
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

/** All rows are locked first, in the order of their hashes: an update by itself promises none. */
async function markSecrets(trx: Trx, rows: KeyHistory["secrets"]): Promise<void> {
  const told = tell(rows, {
    digest: "text",
    usedAt: "timestamptz",
    refusedAt: "timestamptz",
    refusedAddress: "text",
  });
  await sql`
    select from retired_secrets where hash in (select decode(digest, 'base64') from ${told})
    order by hash for no key update`.execute(trx);
  await sql`
    update retired_secrets set last_used_at = greatest(last_used_at, latest.at)
    from (select digest, max("usedAt") as at from ${told} group by 1) latest
    where hash = decode(digest, 'base64') and latest.at is not null`.execute(trx);
  await sql`
    update retired_secrets set refused_at = latest.at, refused_address = latest.address
    from (
      select distinct on (digest) digest, "refusedAt" as at, "refusedAddress" as address from ${told}
      where "refusedAt" is not null order by digest, "refusedAt" desc
    ) latest
    where hash = decode(digest, 'base64') and (refused_at is null or refused_at < latest.at)`.execute(trx);
}

/** SQL for a table `told`, with a row each and columns of these types. */
function tell<Row extends object>(
  rows: readonly Row[],
  types: { readonly [Column in keyof Row & string]: "uuid" | "text" | "timestamptz" | "bigint" },
): RawBuilder<unknown> {
  const columns = Object.keys(types) as (keyof typeof types)[]; // It has these and no others.
  const arrays = columns.map((name) => sql`${rows.map((row) => row[name])}::${sql.raw(types[name])}[]`);
  return sql`unnest(${sql.join(arrays)}) as told (${sql.join(columns.map((name) => sql.ref(name)))})`;
}

/** How many requests with a key had an outcome in an hour or a day, which begins at `startsAt`, in UTC. */
export type UsageBucket = Omit<HourUsage, "keyId" | "hour"> & { readonly startsAt: Date };

export interface UsagePeriod {
  readonly keyId: KeyId;
  /** Hours that begin at `from` or later, and before `to`. */
  readonly from: Date;
  readonly to: Date;
  readonly bucket: "hour" | "day";
  /** Whether each workspace has rows of its own, as unless told, or all are added up under null. */
  readonly workspaces?: "apart" | "together";
}

/** What became of the requests with a key of the user's own, the earliest first; nothing of anybody else's key. */
export async function readKeyUsage(trx: UserTrx, period: UsagePeriod): Promise<UsageBucket[]> {
  const workspaceId = period.workspaces === "together" ? sql`null::uuid` : sql`workspace_id`;
  const { rows } = await sql<UsageBucket>`
    select date_trunc(${period.bucket}, hour, 'UTC') as "startsAt", ${workspaceId} as "workspaceId", outcome,
      sum(count)::bigint as count
    from key_usage_hours
    where key_id = ${period.keyId} and hour >= ${period.from} and hour < ${period.to}
    group by 1, 2, 3
    order by 1, 2, 3`.execute(trx);
  return rows;
}

/** The outcomes of requests with a key of the user's own, in all workspaces together, oldest first. */
export async function readKeyUsageInBuckets(
  trx: UserTrx,
  keyId: KeyId,
  buckets: UsageBuckets,
): Promise<Omit<UsageBucket, "workspaceId">[]> {
  const { startsAt, isInside } = bucketsAsSql(buckets);
  const { rows } = await sql<Omit<UsageBucket, "workspaceId">>`
    select ${startsAt} as "startsAt", outcome, sum(count)::bigint as count
    from key_usage_hours
    where key_id = ${keyId} and ${isInside}
    group by 1, 2
    order by 1, 2`.execute(trx);
  return rows;
}

/** The last refusals of a key, at most 100, newest first. Whoever asks has seen that the key is the reader's own. */
export async function listKeyRefusals(db: Db, keyId: KeyId): Promise<KeyRefusal[]> {
  return await selectRefusals(db).where("key_refusals.key_id", "=", keyId).execute();
}

/** The last addresses of a key, at most five, newest first. Whoever asks has seen that the key is the reader's own. */
export async function listKeyAddresses(db: Db, keyId: KeyId): Promise<KeyAddress[]> {
  return await db
    .selectFrom("key_addresses")
    .select(["address", "last_seen_at as lastSeenAt"])
    .where("key_id", "=", keyId)
    .orderBy(sql`last_seen_at desc, address`)
    .limit(kept.key_addresses.count)
    .execute();
}

/** Why requests of this id, which callers choose, were refused with keys of this user's own: the last 100, newest first. */
export async function findOwnRefusals(
  db: Db,
  userId: UserId,
  requestId: string,
): Promise<(KeyRefusal & { keyId: KeyId; keyName: string; isKeyDeleted: boolean })[]> {
  return await selectRefusals(db)
    .innerJoin("api_keys", "api_keys.id", "key_refusals.key_id")
    .select(["api_keys.id as keyId", "api_keys.name as keyName"])
    .select(sql<boolean>`api_keys.deleted_at is not null`.as("isKeyDeleted"))
    .where("key_refusals.request_id", "=", requestId)
    .where("api_keys.user_id", "=", userId)
    .execute();
}

function selectRefusals(db: Db) {
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
    .limit(kept.key_refusals.count);
}

export interface PruneStep {
  /** How many days history is kept, by the database's clock, and all history of a key after its deletion. */
  readonly keepDays: number;
  /** How many hours to delete at most; 1,000 unless told. A tenth as many keys are looked at. */
  readonly atOnce?: number;
  /** The key that the step before came to. */
  readonly after?: KeyId | undefined;
}

/**
 * A step of pruning: deletes the oldest hours, and of the next keys the addresses and rejected requests that are too old,
 * or all of them for a key that was deleted or purged. Rows that a node is writing are skipped, so that the order in which
 * they are found can't deadlock with the order in which they are written.
 * @param db a connection in the admission role.
 * @returns how many hours it has deleted, and the key that it came to, undefined after the last one. While another node
 *   prunes it does nothing, and answers 0 and `after`.
 */
export async function pruneKeyHistory(
  db: Db,
  { keepDays, atOnce = 1_000, after }: PruneStep,
): Promise<{ readonly hours: number; readonly next: KeyId | undefined }> {
  const latest = sql`now() - make_interval(days => ${keepDays})`;
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ isFree: boolean }>`
      select pg_try_advisory_xact_lock(hashtextextended('latchkey key history', 2)) as "isFree"`.execute(trx);
    if (!rows[0]?.isFree) return { hours: 0, next: after };
    const { numAffectedRows = 0n } = await sql`
      delete from key_usage_hours where ctid = any(array(
        select ctid from key_usage_hours where hour < ${latest} order by hour limit ${atOnce}
      ))`.execute(trx);
    const looked = await lookAtKeys(trx, { latest, after, atMost: Math.ceil(atOnce / 10) });
    await deleteOld(trx, { table: "key_addresses", time: "last_seen_at" }, { latest, ...looked });
    await deleteOld(trx, { table: "key_refusals", time: "occurred_at" }, { latest, ...looked });
    return { hours: Number(numAffectedRows), next: looked.next };
  });
}

interface LookedAt {
  readonly seen: readonly KeyId[];
  /** Those of them that were deleted long ago, or purged. */
  readonly gone: readonly KeyId[];
  readonly next: KeyId | undefined;
}

async function deleteOld(
  trx: Trx,
  { table, time }: { readonly table: "key_addresses" | "key_refusals"; readonly time: string },
  { latest, seen, gone }: LookedAt & { readonly latest: RawBuilder<unknown> },
): Promise<void> {
  await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select ctid from ${sql.table(table)}
      where key_id = any(${seen}::uuid[]) and (${sql.ref(time)} < ${latest} or key_id = any(${gone}::uuid[]))
      for update skip locked
    ))`.execute(trx);
}

/** The next keys that have addresses or refusals, in the order of their ids. */
async function lookAtKeys(
  trx: Trx,
  step: { readonly latest: RawBuilder<unknown>; readonly after: KeyId | undefined; readonly atMost: number },
): Promise<LookedAt> {
  const { latest, after = "00000000-0000-0000-0000-000000000000", atMost } = step;
  const next = (table: string) => sql`
    (select distinct key_id from ${sql.table(table)} where key_id > ${after} order by 1 limit ${atMost})`;
  const { rows } = await sql<{ keyId: KeyId; isGone: boolean }>`
    select key_id as "keyId", not exists (
        select from api_keys where id = key_id and (deleted_at is null or deleted_at >= ${latest})
      ) as "isGone"
    from (${next("key_addresses")} union ${next("key_refusals")} order by 1 limit ${atMost}) seen
    order by 1`.execute(trx);
  const gone = rows.flatMap(({ keyId, isGone }) => (isGone ? [keyId] : []));
  return {
    seen: rows.map(({ keyId }) => keyId),
    gone,
    next: rows.length < atMost ? undefined : rows.at(-1)?.keyId,
  };
}
