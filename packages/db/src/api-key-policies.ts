import { sql } from "kysely";
import type { KeyId, UserId, WorkspaceId } from "./ids.ts";
import {
  type ApiKeyPolicy,
  defaultPolicy,
  type PolicyRule,
  policyJoins,
  violatedRule,
} from "./key-policy.ts";
import type { KeySettings } from "./key-settings.ts";
import { selectUserKind, type UserKind } from "./user-kind.ts";
import type { UserTrx, WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** The policy of a workspace, with the version that an edit can require. */
export interface StoredPolicy extends ApiKeyPolicy {
  /** 1 for a workspace that has never set a policy. */
  readonly version: number;
}

const columns = [
  "max_lifetime_days as maxLifetimeDays",
  "is_expiry_required as isExpiryRequired",
  "are_ip_ranges_required as areIpRangesRequired",
  "max_idle_days as maxIdleDays",
  "version",
] as const;

/** Returns the policy of a workspace. */
export async function getPolicy(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<StoredPolicy> {
  const row = await trx
    .selectFrom("api_key_policies")
    .select(columns)
    .where("workspace_id", "=", scope.workspaceId)
    .executeTakeFirst();
  return row ?? { ...defaultPolicy, version: 1 };
}

/** Replaces the policy of a workspace. Lock the workspace first, and call `bumpOwnerVersions` last in the transaction. */
export async function putPolicy(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  policy: ApiKeyPolicy,
): Promise<StoredPolicy> {
  const values = {
    max_lifetime_days: policy.maxLifetimeDays,
    is_expiry_required: policy.isExpiryRequired,
    are_ip_ranges_required: policy.areIpRangesRequired,
    max_idle_days: policy.maxIdleDays,
  };
  return await trx
    .insertInto("api_key_policies")
    // Version 1 is the policy of a workspace without a row.
    .values({ workspace_id: scope.workspaceId, ...values, version: 2 })
    .onConflict((conflict) =>
      conflict.column("workspace_id").doUpdateSet((eb) => ({
        ...values,
        version: eb("api_key_policies.version", "+", 1),
        updated_at: sql`clock_timestamp()`,
      })),
    )
    .returning(columns)
    .executeTakeFirstOrThrow();
}

/** Why a workspace rejects a key that can reach it: an admin blocked the key, or its policy does not allow the key. */
export interface KeyRejectedHere {
  readonly isBlocked: boolean;
  readonly violation: PolicyRule | null;
}

const rows = {
  key: "key",
  member: "member",
  workspace: "workspace",
  policy: "policy",
  access: "access",
} as const;
const joins = sql.raw(policyJoins(rows));
const violation = sql.raw(violatedRule(rows));

/** Finds out, based on the current data, whether a workspace rejects a key of one of its members. */
export async function findKeyRejection(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  keyId: KeyId,
): Promise<KeyRejectedHere | undefined> {
  const { rows: found } = await sql<KeyRejectedHere>`
    select access.blocked_at is not null as "isBlocked", ${violation} as violation
    from api_keys key
    join members member on member.user_id = key.user_id and member.workspace_id = ${scope.workspaceId}
    ${joins}
    where key.id = ${keyId}`.execute(trx);
  return found[0];
}

/**
 * A workspace that rejects one of a user's keys, although the user is a member and the key is not restricted to other
 * workspaces.
 */
export interface RejectingWorkspace extends KeyRejectedHere {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  readonly slug: string;
  readonly policy: ApiKeyPolicy;
  readonly blockedAt: Date | null;
  /** Null for the `latchkey` command and a deleted user. */
  readonly blockedByName: string | null;
  readonly blockedByKind: UserKind | null;
}

/** Lists the workspaces that reject a key of this user, by name. */
export async function listRejectingWorkspaces(
  trx: UserTrx,
  { userId, id }: { readonly userId: UserId; readonly id: KeyId },
): Promise<RejectingWorkspace[]> {
  const { rows: found } = await sql<RejectingWorkspace>`
    select * from (
      select workspaces.id as "workspaceId", workspaces.name, workspaces.slug,
        access.blocked_at is not null as "isBlocked", access.blocked_at as "blockedAt",
        blocker.name as "blockedByName", ${selectUserKind("blocker")} as "blockedByKind", ${violation} as violation, ${policyAsJson} as policy
      from api_keys key
      join members member on member.user_id = key.user_id
      join workspaces on workspaces.id = member.workspace_id
      ${joins}
      left join users blocker on blocker.id = access.blocked_by
      where key.id = ${id} and key.user_id = ${userId} and key.deleted_at is null
        and (key.workspace_ids is null or member.workspace_id = any(key.workspace_ids))
    ) reached
    where "isBlocked" or violation is not null
    order by lower(name), "workspaceId"
    limit ${maxRejecting}`.execute(trx);
  return found;
}

const policyAsJson = sql`json_build_object(
  'maxLifetimeDays', policy.max_lifetime_days,
  'isExpiryRequired', coalesce(policy.is_expiry_required, false),
  'areIpRangesRequired', coalesce(policy.are_ip_ranges_required, false),
  'maxIdleDays', policy.max_idle_days)`;

/** The most workspaces in a list of those that reject a key. */
const maxRejecting = 100;

/** A workspace whose policy does not allow a key with certain settings. */
export interface ViolatedPolicy {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  readonly violation: PolicyRule;
  readonly policy: ApiKeyPolicy;
}

/**
 * Lists the workspaces of a user whose policies would not allow a new key with these settings, by name.
 * @param settings.workspaceIds null for all workspaces of the user.
 */
export async function listViolatedPolicies(
  trx: UserTrx,
  userId: UserId,
  { expiresAt, ipRanges, workspaceIds }: Pick<KeySettings, "expiresAt" | "ipRanges" | "workspaceIds">,
): Promise<ViolatedPolicy[]> {
  const { rows: found } = await sql<ViolatedPolicy>`
    select * from (
      select workspaces.id as "workspaceId", workspaces.name, ${violation} as violation, ${policyAsJson} as policy
      from members member
      cross join (select null::uuid as id, clock_timestamp() as created_at, ${expiresAt}::timestamptz as expires_at,
        ${ipRanges}::text[] as ip_ranges) key
      join workspaces on workspaces.id = member.workspace_id
      ${joins}
      where member.user_id = ${userId}
        and (${workspaceIds}::uuid[] is null or member.workspace_id = any(${workspaceIds}::uuid[]))
    ) reached
    where violation is not null
    order by lower(name), "workspaceId"
    limit ${maxRejecting}`.execute(trx);
  return found;
}

/** SQL for whether a workspace in `workspaces`, with the membership `members` of the key's owner, rejects a key. */
export function isRejectedByWorkspace(keyId: KeyId) {
  const named = { ...rows, member: "members" } as const;
  return sql<boolean>`exists (
    select from api_keys key ${sql.raw(policyJoins(named))}
    where key.id = ${keyId} and (access.blocked_at is not null or ${sql.raw(violatedRule(named))} is not null))`;
}

/** A key that works in a workspace, and that another policy would reject. */
export interface RejectedKey {
  readonly id: KeyId;
  readonly name: string;
  readonly start: string;
  readonly ownerId: UserId;
  readonly ownerName: string;
  readonly ownerKind: UserKind;
  readonly violation: PolicyRule;
  /** The beginning of the hour of the last use in the workspace, in UTC. */
  readonly lastUsedAt: Date | null;
}

/** The keys that a policy would reject. */
export interface PolicyPreview {
  /** The keys that the policy would reject, last used first. */
  readonly keys: readonly RejectedKey[];
  /** The number of all keys that the policy would reject, among the keys that were examined. */
  readonly total: number;
  /** Whether every key that can reach the workspace was examined. */
  readonly isComplete: boolean;
}

/** The most keys that a preview examines, so that it takes a bounded time. */
const maxExamined = 10_000;

/**
 * Finds the keys that work in a workspace and that another policy, or the requirement of a second factor, would reject.
 * Examines the newest keys first.
 * @param query.requiresSecondFactor whether the workspace would require a second factor; as it does now by default.
 * @param query.limit the most keys to return.
 */
export async function previewPolicy(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { policy, requiresSecondFactor = null, limit, examined = maxExamined }: PreviewQuery,
): Promise<PolicyPreview> {
  const proposed = { ...rows, workspace: "proposed", policy: "proposed" } as const;
  const { rows: found } = await sql<PreviewRow>`
    with examined as (
      select key.id, key.name, key.start, key.created_at, key.expires_at, key.ip_ranges, key.user_id
      from members member
      join users owner on owner.id = member.user_id and owner.disabled_at is null
      join api_keys key on key.user_id = member.user_id
      where member.workspace_id = ${scope.workspaceId} and key.deleted_at is null and key.disabled_at is null
        and (key.expires_at is null or key.expires_at > clock_timestamp())
        and (key.workspace_ids is null or ${scope.workspaceId} = any(key.workspace_ids))
      order by key.created_at desc, key.id desc
      limit ${examined + 1}
    ),
    -- Materialized, because each rule would be evaluated once more for the condition.
    judged as materialized (
      select key.id, key.name, key.start, key.user_id, ${sql.raw(violatedRule(proposed))} as violation
      from (select * from examined limit ${examined}) key
      join members member on member.workspace_id = ${scope.workspaceId} and member.user_id = key.user_id
      ${joins}
      cross join lateral (select
        coalesce(${requiresSecondFactor}::boolean, workspace.requires_second_factor) as requires_second_factor,
        ${policy.maxLifetimeDays}::integer as max_lifetime_days,
        ${policy.isExpiryRequired}::boolean as is_expiry_required,
        ${policy.areIpRangesRequired}::boolean as are_ip_ranges_required,
        ${policy.maxIdleDays}::integer as max_idle_days) proposed
      where access.blocked_at is null and ${violation} is null
    ),
    rejected as (
      select judged.*, (select hour from key_usage_hours
        where workspace_id = ${scope.workspaceId} and key_id = judged.id and outcome = 'admitted'
        order by hour desc limit 1) as used_at
      from judged
      where violation is not null
    )
    select rejected.id, rejected.name, rejected.start, users.id as "ownerId", users.name as "ownerName",
      ${selectUserKind()} as "ownerKind", rejected.violation, used_at as "lastUsedAt", count(*) over () as total,
      (select count(*) <= ${examined} from examined) as "isComplete"
    from (select true) always
    left join rejected on true
    left join users on users.id = rejected.user_id
    order by used_at desc nulls last, rejected.id
    limit ${limit}`.execute(trx);
  const keys = found.flatMap(({ total: _total, isComplete: _isComplete, ...key }) =>
    isRejectedKey(key) ? [key] : [],
  );
  const [first] = found;
  return { keys, total: keys.length === 0 ? 0 : (first?.total ?? 0), isComplete: first?.isComplete ?? true };
}

interface PreviewQuery {
  readonly policy: ApiKeyPolicy;
  readonly requiresSecondFactor?: boolean | null | undefined;
  readonly limit: number;
  readonly examined?: number;
}

type PreviewRow = { readonly [Name in keyof RejectedKey]: RejectedKey[Name] | null } & {
  readonly total: number;
  readonly isComplete: boolean;
};

/** The row without a key says only how many keys were examined. */
function isRejectedKey(
  key: { readonly [Name in keyof RejectedKey]: RejectedKey[Name] | null },
): key is RejectedKey {
  return key.id !== null;
}
