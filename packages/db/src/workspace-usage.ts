import { type RawBuilder, sql } from "kysely";
import type { KeyId, UserId } from "./ids.ts";
import { bucketsAsSql, type UsageBuckets } from "./usage-buckets.ts";
import { selectUserKind, type UserKind } from "./user-kind.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** How many requests in a workspace had one outcome in one bucket. */
export interface WorkspaceUsage {
  readonly startsAt: Date;
  readonly outcome: string;
  readonly count: number;
}

/**
 * The outcomes of requests in a workspace, added up over all keys, oldest first. Rejected requests count only if the
 * owner of the key was a member.
 */
export async function readWorkspaceUsage(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  buckets: UsageBuckets,
): Promise<WorkspaceUsage[]> {
  const { startsAt, isInRange } = bucketsAsSql(buckets);
  const { rows } = await sql<WorkspaceUsage>`
    select ${startsAt} as "startsAt", outcome, sum(count)::bigint as count
    from workspace_usage_hours
    where workspace_id = ${scope.workspaceId} and ${isInRange}
    group by 1, 2
    order by 1, 2`.execute(trx);
  return rows;
}

/** How many requests with a key were allowed in a workspace. */
export interface BusyKey {
  readonly id: KeyId;
  /** Null for a key that can no longer reach the workspace, because members must not see its later names. */
  readonly name: string | null;
  /** Null like the name. */
  readonly start: string | null;
  readonly ownerId: UserId;
  readonly ownerName: string;
  readonly ownerKind: UserKind;
  /** False for a key that can no longer reach the workspace. */
  readonly isDeleted: boolean;
  readonly count: number;
}

/** The keys with the most allowed requests in a workspace, busiest first. Purged keys are left out. */
export async function listBusiestKeys(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  {
    from,
    to,
    ownerId,
    limit,
  }: {
    readonly from: Date;
    readonly to: Date;
    /** Only keys of this user. */
    readonly ownerId?: UserId | undefined;
    readonly limit: number;
  },
): Promise<BusyKey[]> {
  const isOwn = ownerId ? sql`api_keys.user_id = ${ownerId}` : sql`true`;
  const canReach = sql`members.user_id is not null
    and (api_keys.workspace_ids is null or ${scope.workspaceId} = any(api_keys.workspace_ids))`;
  const { rows } = await sql<BusyKey>`
    select api_keys.id, case when ${canReach} then api_keys.name end as name,
      case when ${canReach} then api_keys.start end as start, api_keys.user_id as "ownerId",
      users.name as "ownerName", ${selectUserKind()} as "ownerKind", (${canReach} and api_keys.deleted_at is not null) as "isDeleted", used.count
    from (
      select key_id, sum(count)::bigint as count from (${usesBetween(scope, from, to)}) uses group by key_id
    ) used
    join api_keys on api_keys.id = used.key_id
    join users on users.id = api_keys.user_id
    left join members on members.user_id = api_keys.user_id and members.workspace_id = ${scope.workspaceId}
    where ${isOwn}
    order by used.count desc, api_keys.id
    limit ${limit}`.execute(trx);
  return rows;
}

const dayMs = 86_400_000;

/**
 * SQL for how often each key was used in a workspace: rows of `key_id` and `count`. Reads whole days in UTC by day, and
 * the other hours, at most 47 of them, by hour. There are no uses in the future, so a period that ends in the future
 * includes the whole current day.
 */
function usesBetween({ workspaceId }: WorkspaceScope, from: Date, to: Date): RawBuilder<unknown> {
  const firstDay = new Date(Math.ceil(from.getTime() / dayMs) * dayMs);
  const lastDay = new Date(Math.floor(to.getTime() / dayMs) * dayMs);
  const hours = (start: Date, end: Date) => sql`
    select key_id, count from key_usage_hours
    where workspace_id = ${workspaceId} and outcome = 'admitted' and hour >= ${start} and hour < ${end}`;
  if (firstDay > lastDay) return hours(from, to);
  return sql`
    ${hours(from, firstDay)}
    union all
    select key_id, use_count from workspace_key_days
    where workspace_id = ${workspaceId} and day >= ${toDate(firstDay)}
      and (day < ${toDate(lastDay)} or ${to} > now())
    union all
    ${hours(lastDay, to)} and ${to} <= now()`;
}

function toDate(midnight: Date): RawBuilder<unknown> {
  return sql`${midnight.toISOString().slice(0, 10)}::date`;
}
