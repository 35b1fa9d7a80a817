import { type RawBuilder, sql } from "kysely";
import { containsText } from "./contains-text.ts";
import type { KeyId, UserId } from "./ids.ts";
import { type PolicyRule, violatedRule } from "./key-policy.ts";
import { type KeySettings, selectSettings } from "./key-settings.ts";
import { hasKeyStatus, isRotating, keyStatuses } from "./key-status.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { Role } from "./role.ts";
import { searchableUser, selectEmail, selectUserKind, type UserKind } from "./user-kind.ts";
import { describeUse, recentUsesOfKeys } from "./workspace-key-use.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** An API key that can reach a workspace, as a member of that workspace sees it. */
export interface WorkspaceKey extends Omit<KeySettings, "workspaceIds"> {
  readonly id: KeyId;
  readonly name: string;
  /** The first characters of the secret. */
  readonly start: string;
  readonly createdAt: Date;
  readonly ownerId: UserId;
  readonly ownerName: string;
  readonly ownerKind: UserKind;
  /** Null for a service account. */
  readonly ownerEmail: string | null;
  readonly ownerRole: Role;
  readonly isOwnerDisabled: boolean;
  /** Whether the key is restricted to selected workspaces. The other workspaces are not shown. */
  readonly hasSelectedWorkspaces: boolean;
  /** Whether an old secret is still valid. */
  readonly isRotating: boolean;
  /** Whether a request in this workspace was rate limited in this hour or the one before, in UTC. */
  readonly isRateLimited: boolean;
  /** Whether an admin blocked the key from this workspace. */
  readonly isBlocked: boolean;
  readonly blockedAt: Date | null;
  /** Null for a key that isn't blocked, and if the `latchkey` command or a deleted user blocked it. */
  readonly blockedByName: string | null;
  readonly blockedByKind: UserKind | null;
  /** The rule of the workspace's policy that the key violates, so that it is rejected here. */
  readonly violation: PolicyRule | null;
  /** Requests allowed in this workspace in the last 30 days. */
  readonly recentUses: number;
  /** The beginning of the hour of the last allowed request in this workspace, in UTC, as far back as history is kept. */
  readonly lastUsedAt: Date | null;
}

/** The statuses that the keys of a workspace can be filtered by: also blocked here, and rejected by the policy. */
export const workspaceKeyStatuses = [...keyStatuses, "blocked", "policy"] as const;
export type WorkspaceKeyStatus = (typeof workspaceKeyStatuses)[number];

export interface WorkspaceKeyFilter {
  /** Only keys of this user. */
  readonly ownerId?: UserId | undefined;
  /** Only these keys. */
  readonly ids?: readonly KeyId[] | undefined;
  /** Part of a key's name or first characters, or of its owner's name or email address, in any letter case. */
  readonly search?: string | undefined;
  readonly status?: WorkspaceKeyStatus | undefined;
  /** Only keys that the workspace accepts if their owner is enabled. */
  readonly isAccepted?: true | undefined;
}

/** Permissions that a change takes from a member, as names in the `permissions` of keys. An empty list stands for none. */
export interface LostPermissions {
  /** The names that allow at least one of the lost permissions. */
  readonly names: readonly string[];
  /** The names that allow at least one of them to a read-only key. */
  readonly readOnlyNames: readonly string[];
}

export const workspaceKeySorts = [
  "name",
  "owner",
  "createdAt",
  "expiresAt",
  "lastUsedAt",
  "recentUses",
] as const;
export type WorkspaceKeySort = (typeof workspaceKeySorts)[number];

const violation = sql.raw<PolicyRule | null>(
  violatedRule({
    key: "api_keys",
    member: "members",
    workspace: "workspace",
    policy: "policy",
    access: "access",
  }),
);
const isBlocked = sql<boolean>`(access.blocked_at is not null)`;
const violatesPolicy = sql<boolean>`(${violation} is not null)`;

/** SQL for whether the workspace accepts a key if its owner is enabled. */
const isAcceptedIfEnabled = sql<boolean>`(api_keys.disabled_at is null
  and coalesce(api_keys.expires_at > clock_timestamp(), true) and not ${isBlocked} and not ${violatesPolicy})`;

/** SQL for whether requests with a key lose at least one permission, if the owner of the key is enabled. */
function losesPermissions({ names, readOnlyNames }: LostPermissions): RawBuilder<boolean> {
  const hasOneOf = (some: readonly string[]) =>
    sql`(cardinality(${some}::text[]) > 0 and coalesce(api_keys.permissions && ${some}::text[], true))`;
  return sql`(${isAcceptedIfEnabled}
    and case when api_keys.is_read_only then ${hasOneOf(readOnlyNames)} else ${hasOneOf(names)} end)`;
}

function hasStatus(status: WorkspaceKeyStatus, scope: WorkspaceScope): RawBuilder<boolean> {
  if (status === "blocked") return isBlocked;
  if (status === "policy") return violatesPolicy;
  const { isLimited, isUsed } = describeUse(scope);
  const isDisabled = sql<boolean>`(api_keys.disabled_at is not null or users.disabled_at is not null)`;
  const hasStatus = hasKeyStatus(status, { isDisabled, isLimited, isUsed });
  return status === "active" ? sql`(${hasStatus} and not ${isBlocked} and not ${violatesPolicy})` : hasStatus;
}

function sortExpression(sort: WorkspaceKeySort, scope: WorkspaceScope): RawBuilder<unknown> {
  switch (sort) {
    case "name":
      return sql`lower(api_keys.name)`;
    case "owner":
      return sql`lower(users.name)`;
    case "createdAt":
      return sql`api_keys.created_at`;
    case "expiresAt":
      return sql`api_keys.expires_at`;
    case "recentUses":
      return sql`coalesce(recent.count, 0)`;
    case "lastUsedAt":
      return describeUse(scope).lastUsedAt;
    default:
      return sort satisfies never;
  }
}

/**
 * Returns a page of the keys that can reach a workspace: the keys of its members that are not restricted to other
 * workspaces.
 * @returns also the number of all matching keys.
 */
export async function listWorkspaceKeys(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  query: WorkspaceKeyFilter & {
    readonly sort: WorkspaceKeySort;
    readonly direction: "asc" | "desc";
    readonly offset: number;
    readonly limit: number;
    /** Sorts keys that lose some of these permissions before all others. */
    readonly lost?: LostPermissions;
  },
): Promise<{ items: WorkspaceKey[]; total: number }> {
  const { sort, direction, offset, limit, lost } = query;
  const order = sql`
    ${lost ? sql`${losesPermissions(lost)} desc,` : sql``} ${sortExpression(sort, scope)} ${sql.raw(direction)} nulls last, api_keys.id ${sql.raw(direction)}`;
  // Only the keys of the page are described, because that reads their history.
  const found = await selectReachingKeys(trx, scope)
    // Postgres leaves out the join if the keys aren't sorted by it.
    .leftJoin(recentUsesOfKeys(scope).as("recent"), (join) => join.onRef("recent.keyId", "=", "api_keys.id"))
    .select(["api_keys.id", sql<number>`count(*) over ()`.as("total")])
    .where(matches(query, scope))
    .orderBy(order)
    .offset(offset)
    .limit(limit)
    .execute();
  // A page beyond the last one has no row with the total.
  const [first] = found;
  if (!first) return { items: [], total: offset > 0 ? await countWorkspaceKeys(trx, scope, query) : 0 };
  const ids = found.map(({ id }) => id);
  const rows = await describeKeys(
    selectReachingKeys(trx, scope).where("api_keys.id", "in", ids),
    scope,
  ).execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  // A key that was deleted between the two statements is missing.
  return { items: ids.flatMap((id) => byId.get(id) ?? []), total: first.total };
}

export const workspaceKeyOrders = {
  createdAt: { column: "api_keys.created_at", type: "timestamptz", id: "api_keys.id" },
  name: { column: "api_keys.name", type: "text", id: "api_keys.id" },
} as const satisfies Record<string, Order>;

/** Returns a page of the keys that can reach a workspace, for the open API. */
export async function listWorkspaceKeyPage(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  {
    sort,
    filter,
    ...page
  }: Page & { readonly sort: keyof typeof workspaceKeyOrders; readonly filter: WorkspaceKeyFilter },
): Promise<(WorkspaceKey & { position: string })[]> {
  const query = describeKeys(selectReachingKeys(trx, scope).where(matches(filter, scope)), scope);
  return await cutPage(query, workspaceKeyOrders[sort], page).execute();
}

/** Finds those of these keys that can reach a workspace. */
export async function findWorkspaceKeys(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  ids: readonly KeyId[],
): Promise<WorkspaceKey[]> {
  if (ids.length === 0) return [];
  return await describeKeys(selectReachingKeys(trx, scope).where("api_keys.id", "in", ids), scope).execute();
}

/** Counts the matching keys. */
export async function countWorkspaceKeys(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  filter: WorkspaceKeyFilter,
): Promise<number> {
  const { count } = await selectReachingKeys(trx, scope)
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where(matches(filter, scope))
    .executeTakeFirstOrThrow();
  return count;
}

function matches(
  { ownerId, ids, search = "", status, isAccepted }: WorkspaceKeyFilter,
  scope: WorkspaceScope,
): RawBuilder<boolean> {
  // A search can't contain the separator.
  const text = sql`api_keys.name || chr(31) || api_keys.start || chr(31) || ${searchableUser()}`;
  const conditions = [
    ...(ownerId ? [sql`api_keys.user_id = ${ownerId}`] : []),
    ...(ids ? [sql`api_keys.id = any(${ids}::uuid[])`] : []),
    ...(search === "" ? [] : [containsText(text, search)]),
    ...(status ? [hasStatus(status, scope)] : []),
    ...(isAccepted ? [isAcceptedIfEnabled] : []),
  ];
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

function selectReachingKeys(trx: WorkspaceTrx, { workspaceId }: WorkspaceScope) {
  return trx
    .selectFrom("members")
    .innerJoin("users", "users.id", "members.user_id")
    .innerJoin("api_keys", "api_keys.user_id", "members.user_id")
    .innerJoin("workspaces as workspace", "workspace.id", "members.workspace_id")
    .leftJoin("api_key_policies as policy", "policy.workspace_id", "members.workspace_id")
    .leftJoin("workspace_key_access as access", (join) =>
      join
        .onRef("access.workspace_id", "=", "members.workspace_id")
        .onRef("access.key_id", "=", "api_keys.id"),
    )
    .where("members.workspace_id", "=", workspaceId)
    .where("api_keys.deleted_at", "is", null)
    .where(sql<boolean>`(api_keys.workspace_ids is null or ${workspaceId} = any(api_keys.workspace_ids))`);
}

function describeKeys(query: ReturnType<typeof selectReachingKeys>, scope: WorkspaceScope) {
  const { recentUses, lastUsedAt, isLimited } = describeUse(scope);
  return query.select([
    "api_keys.id",
    "api_keys.name",
    "api_keys.start",
    "api_keys.created_at as createdAt",
    "users.id as ownerId",
    "users.name as ownerName",
    selectUserKind().as("ownerKind"),
    selectEmail().as("ownerEmail"),
    "members.role as ownerRole",
    sql<boolean>`users.disabled_at is not null`.as("isOwnerDisabled"),
    ...selectSettings.filter(isShown),
    sql<boolean>`api_keys.workspace_ids is not null`.as("hasSelectedWorkspaces"),
    isRotating.as("isRotating"),
    isLimited.as("isRateLimited"),
    isBlocked.as("isBlocked"),
    "access.blocked_at as blockedAt",
    sql<string | null>`(select name from users where id = access.blocked_by)`.as("blockedByName"),
    sql<UserKind | null>`
      (select ${selectUserKind("blocker")} from users blocker where blocker.id = access.blocked_by)`.as(
      "blockedByKind",
    ),
    violation.as("violation"),
    recentUses.as("recentUses"),
    lastUsedAt.as("lastUsedAt"),
  ]);
}

type Selected = (typeof selectSettings)[number];
type Shown = Exclude<Selected, { readonly alias: "workspaceIds" }>;

/** Members of this workspace don't learn which other workspaces a key can reach. */
function isShown(selected: Selected): selected is Shown {
  return selected.alias !== "workspaceIds";
}
