import {
  expandPermissions,
  listPermissions,
  type Permission,
  permissions,
  roleHasPermission,
} from "@latchkey/auth/permissions";
import { hasPermission, type Restrictions } from "@latchkey/auth/restrictions";
import { readClock } from "@latchkey/db/clock";
import type { KeyId, UserId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/role";
import type { Trx } from "@latchkey/db/schema";
import type { ServiceAccountRole } from "@latchkey/db/service-accounts";
import { countWorkspaceKeys, listWorkspaceKeys, type WorkspaceKey } from "@latchkey/db/workspace-keys";
import { enterWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { createKey } from "./api-key-edits.ts";
import type { Edit } from "./enter-for-edit.ts";
import { enterGrantingWorkspace } from "./granting-workspace.ts";
import { getMember, removeMember } from "./members.ts";
import type { Quotas } from "./quotas.ts";
import { createServiceAccount, type ServiceAccount } from "./service-accounts.ts";

/** The most keys in a preview, and that are replaced at a time. */
export const maxOffboardedKeys = 50;

/** A key of a member who is to be removed or given another role. */
export interface AffectedKey extends WorkspaceKey {
  /**
   * The permissions that requests with the key have in the workspace now and lose with the change. None for a key that the
   * workspace doesn't accept. A disabled user's keys count as if the user were enabled, so that they can be replaced.
   */
  readonly lostPermissions: readonly Permission[];
}

/** The keys of a member, and the role of a service account that replaces the member. */
export interface OffboardingPreview {
  /** At most {@link maxOffboardedKeys}, busiest first. If there are more keys, those that lose permissions take precedence. */
  readonly keys: readonly AffectedKey[];
  /** The number of all keys. */
  readonly total: number;
  readonly replacementRole: ServiceAccountRole;
}

/**
 * Checks that a request with an API key may preview the affected keys of a member. A restricted key can't read the
 * other keys of its owner, so it needs `api-keys:read` to preview its owner too.
 * @throws {AppError} FORBIDDEN
 */
export function requirePreviewAccess(
  caller: {
    readonly userId: UserId;
    readonly role: Role;
    readonly restrictions: Restrictions | undefined;
    readonly isRestricted: boolean;
  },
  memberId: UserId,
): void {
  if (memberId === caller.userId && !caller.isRestricted) return;
  if (!hasPermission(caller.role, caller.restrictions, "api-keys:read")) throw new AppError("FORBIDDEN");
}

/**
 * Lists the keys of a member that can reach the workspace, busiest first, with the permissions that each key loses if
 * the member is removed or gets another role.
 * @param change.role the new role; undefined for a removal.
 * @throws {AppError} NOT_FOUND
 */
export async function previewOffboarding(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { userId, role }: { readonly userId: UserId; readonly role?: Role | undefined },
): Promise<OffboardingPreview> {
  const member = await getMember(trx, scope, userId);
  const lost = listPermissions(member.role).filter(
    (permission) => !role || !roleHasPermission(role, permission),
  );
  const page = { sort: "recentUses", direction: "desc", offset: 0, limit: maxOffboardedKeys } as const;
  const { items, total } = await listWorkspaceKeys(trx, scope, {
    ...page,
    ownerId: userId,
    lost: {
      names: listAllowing(lost),
      readOnlyNames: listAllowing(lost.filter((permission) => permission.endsWith(":read"))),
    },
  });
  const now = await readClock(trx);
  const busiestFirst = items.toSorted((one, other) => other.recentUses - one.recentUses);
  const keys = busiestFirst.map((key) => ({
    ...key,
    lostPermissions: isAccepted(key, now) ? lost.filter((permission) => isAllowedByKey(key, permission)) : [],
  }));
  return { keys, total, replacementRole: replacementRole(member.role) };
}

/** Whether the workspace accepts a key, if its owner is enabled. */
function isAccepted({ isDisabled, expiresAt, isBlocked, violation }: WorkspaceKey, now: Date): boolean {
  const isExpired = expiresAt !== null && expiresAt <= now;
  return !isDisabled && !isExpired && !isBlocked && violation === null;
}

/** The permissions of a key that allow at least one of these permissions: themselves, and those that include them. */
function listAllowing(some: readonly Permission[]): readonly Permission[] {
  return permissions.filter((name) => some.some((permission) => expandPermissions([name]).has(permission)));
}

function isAllowedByKey(key: WorkspaceKey, permission: Permission): boolean {
  return (
    (!key.permissions || expandPermissions(key.permissions).has(permission)) &&
    (!key.isReadOnly || permission.endsWith(":read"))
  );
}

/** The role of a service account that replaces a member. A service account can't be an owner. */
function replacementRole(role: Role): ServiceAccountRole {
  return role === "owner" ? "admin" : role;
}

/** A key of a service account that replaces a key of a person. */
export interface ReplacementKey {
  readonly id: KeyId;
  readonly name: string;
  /** Only in this result; the database has its hash. */
  readonly secret: string;
  readonly replacedId: KeyId;
}

/**
 * Creates a service account with the role of a member, and a key with the same restrictions for each of the member's
 * keys. The keys of the member aren't changed, so that each integration can be switched before they lose access.
 * @throws {AppError} NOT_FOUND for a key that isn't the member's or can't reach the workspace; BAD_REQUEST for a key that the
 * workspace doesn't accept, because its replacement would be accepted; FORBIDDEN, UNPROCESSABLE_CONTENT and TOO_MANY_REQUESTS
 * as {@link createServiceAccount} and {@link createKey}.
 */
export async function replaceKeys(
  trx: Trx,
  edit: Edit,
  {
    userId,
    keyIds,
    name,
  }: { readonly userId: UserId; readonly keyIds: readonly KeyId[]; readonly name: string },
  quotas: Quotas,
): Promise<{ readonly account: ServiceAccount; readonly keys: readonly ReplacementKey[] }> {
  const { scope, origin } = edit;
  // The locks prevent a concurrent demotion, which would leave the member's former role to the service account, and edits of
  // the keys by the member.
  const { workspaceTrx } = await enterGrantingWorkspace(trx, edit, [userId]);
  const { role } = await getMember(workspaceTrx, scope, userId);
  const account = await createServiceAccount(trx, edit, { name, role: replacementRole(role) }, quotas);
  const page = { sort: "createdAt", direction: "asc", offset: 0, limit: maxOffboardedKeys } as const;
  const { items } = await listWorkspaceKeys(workspaceTrx, scope, { ...page, ownerId: userId, ids: keyIds });
  if (items.length < new Set(keyIds).size) {
    throw new AppError("NOT_FOUND", { message: "There is no such API key." });
  }
  const now = await readClock(trx);
  const rejected = items.find((key) => !isAccepted(key, now));
  if (rejected) {
    const reason = "It is disabled, expired or blocked, or violates the policy of the workspace.";
    const message = `The key “${rejected.name}” can't be replaced. ${reason}`;
    throw new AppError("BAD_REQUEST", { message });
  }
  const keys: ReplacementKey[] = [];
  for (const replaced of items) {
    const { expiresAt, permissions, isReadOnly, ipRanges, limit, hasSelectedWorkspaces } = replaced;
    const { id, secret } = await createKey(
      trx,
      {
        userId: account.userId,
        name: replaced.name,
        description: `Replaces ${replaced.ownerName}’s key ${replaced.start}…`,
        settings: {
          ...{ expiresAt, permissions, isReadOnly, ipRanges, limit },
          workspaceIds: hasSelectedWorkspaces ? [scope.workspaceId] : null,
        },
        origin,
      },
      quotas,
    );
    keys.push({ id, name: replaced.name, secret, replacedId: replaced.id });
  }
  return { account, keys };
}

/**
 * As {@link replaceKeys}, for all keys of a member that the workspace accepts: keys that are not disabled, expired or
 * blocked, and don't violate the policy. The member may be disabled.
 * @throws {AppError} NOT_FOUND if there is none, UNPROCESSABLE_CONTENT for more than {@link maxOffboardedKeys}.
 */
export async function replaceActiveKeys(
  trx: Trx,
  edit: Edit,
  { userId, name }: { readonly userId: UserId; readonly name: string },
  quotas: Quotas,
): ReturnType<typeof replaceKeys> {
  const { scope } = edit;
  const { workspaceTrx } = await enterGrantingWorkspace(trx, edit, [userId]);
  await getMember(workspaceTrx, scope, userId);
  const page = { sort: "createdAt", direction: "asc", offset: 0, limit: maxOffboardedKeys } as const;
  const filter = { ownerId: userId, isAccepted: true } as const;
  const { items, total } = await listWorkspaceKeys(workspaceTrx, scope, { ...page, ...filter });
  if (items.length === 0) {
    throw new AppError("NOT_FOUND", {
      message: "The member has no active API key that can reach the workspace.",
    });
  }
  if (total > items.length) {
    throw new AppError("UNPROCESSABLE_CONTENT", {
      message: `The member has ${total} active API keys that can reach the workspace. At most ${maxOffboardedKeys} can be replaced at a time.`,
    });
  }
  return await replaceKeys(trx, edit, { userId, keyIds: items.map(({ id }) => id), name }, quotas);
}

/**
 * Removes a member, as {@link removeMember}.
 * @returns how many of their keys could reach the workspace: keys that are neither disabled nor expired.
 */
export async function removeMemberWithKeys(
  trx: Trx,
  edit: Edit,
  removal: Parameters<typeof removeMember>[2],
): Promise<number> {
  const { scope } = edit;
  const filter = { ownerId: removal.userId, status: "active" } as const;
  const stoppedKeys = await countWorkspaceKeys(await enterWorkspace(trx, scope), scope, filter);
  await removeMember(trx, edit, removal);
  return stoppedKeys;
}
