import { sql } from "kysely";
import type { KeyId, KeyRejectionId, UserId, WorkspaceId } from "./ids.ts";
import type { Db } from "./schema.ts";
import { bucketsAsSql, type UsageBuckets } from "./usage-buckets.ts";
import { selectUserKind, type UserKind } from "./user-kind.ts";
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

/** How many of the newest rows are kept per key. */
export const keyHistoryLimits = {
  key_addresses: { column: "address", newestFirst: sql`last_seen_at desc, address`, count: 5 },
  key_refusals: { column: "id", newestFirst: sql`id desc`, count: 100 },
};

/** The number of requests with a key that had one outcome in the hour or day that starts at `startsAt`, in UTC. */
export type UsageBucket = Omit<HourUsage, "keyId" | "hour"> & { readonly startsAt: Date };

export interface UsagePeriod {
  readonly keyId: KeyId;
  /** Only hours that start at or after `from`, and before `to`. Days are complete only if both are midnights in UTC. */
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

/**
 * The outcomes of requests with one of the user's own keys, added up over all workspaces, oldest first. A request that
 * verifies keys of several workspaces is counted in each of them.
 */
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
    .limit(keyHistoryLimits.key_addresses.count)
    .execute();
}

/** A rejected request, and its key. */
export interface FoundRejection extends KeyRejection {
  readonly keyId: KeyId;
  readonly keyName: string;
  readonly isKeyDeleted: boolean;
  readonly ownerId: UserId;
  readonly ownerName: string;
  readonly ownerKind: UserKind;
  /** The workspace of the service account that owns the key. Null for a key of the user. */
  readonly serviceWorkspaceId: WorkspaceId | null;
}

/**
 * Finds rejected requests with this request ID, the user's own keys and the keys of service accounts in workspaces of which the user
 * is a member: the last 100, newest first. Clients choose request IDs, so there can be several. The caller must check that the
 * user may see the keys of each of these workspaces.
 */
export async function findRejectionsOfMember(
  trx: UserTrx,
  userId: UserId,
  requestId: string,
): Promise<FoundRejection[]> {
  return await selectRejections(trx)
    .innerJoin("api_keys", "api_keys.id", "key_refusals.key_id")
    .innerJoin("users", "users.id", "api_keys.user_id")
    .leftJoin("members", (join) =>
      join
        .onRef("members.workspace_id", "=", "users.service_workspace_id")
        .on("members.user_id", "=", userId),
    )
    .select(["api_keys.id as keyId", "api_keys.name as keyName"])
    .select(["users.id as ownerId", "users.name as ownerName", selectUserKind().as("ownerKind")])
    .select(sql<boolean>`api_keys.deleted_at is not null`.as("isKeyDeleted"))
    .select("members.workspace_id as serviceWorkspaceId")
    .where("key_refusals.request_id", "=", requestId)
    .where((where) =>
      where.or([where("api_keys.user_id", "=", userId), where("members.user_id", "is not", null)]),
    )
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
    .limit(keyHistoryLimits.key_refusals.count);
}
