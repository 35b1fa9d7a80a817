import { sql } from "kysely";
import type { KeyId, UserId } from "./ids.ts";
import { bucketsAsSql, type UsageBuckets } from "./usage-buckets.ts";
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
    from key_usage_hours
    where workspace_id = ${scope.workspaceId} and ${isInRange}
    group by 1, 2
    order by 1, 2`.execute(trx);
  return rows;
}

/** How many requests with a key were allowed in a workspace. */
export interface BusyKey {
  readonly id: KeyId;
  /** Null for a key that can no longer reach the workspace: its owner's later changes aren't for this workspace. */
  readonly name: string | null;
  /** Null like the name. */
  readonly start: string | null;
  readonly ownerId: UserId;
  readonly ownerName: string;
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
      users.name as "ownerName", (${canReach} and api_keys.deleted_at is not null) as "isDeleted", sum(count)::bigint as count
    from key_usage_hours
    join api_keys on api_keys.id = key_usage_hours.key_id
    join users on users.id = api_keys.user_id
    left join members on members.user_id = api_keys.user_id and members.workspace_id = ${scope.workspaceId}
    where key_usage_hours.workspace_id = ${scope.workspaceId} and hour >= ${from} and hour < ${to}
      and outcome = 'admitted' and ${isOwn}
    group by api_keys.id, users.id, members.user_id
    order by count desc, api_keys.id
    limit ${limit}`.execute(trx);
  return rows;
}
