import { isHigherRole, roleHasPermission } from "@latchkey/auth/permissions";
import { allowsPermission, canGrantRole } from "@latchkey/auth/restrictions";
import { appendAudit } from "@latchkey/db/audit-events";
import { deleteServiceAccountNotices } from "@latchkey/db/delete-notices";
import type { UserId } from "@latchkey/db/ids";
import { deleteInvitation } from "@latchkey/db/invitations";
import {
  countMembers,
  deleteMember,
  findMember,
  hasOtherOwner,
  insertMember,
  listMembers,
  type Member,
  updateMemberRole,
} from "@latchkey/db/members";
import { countMemberships, listOwnedWorkspaces } from "@latchkey/db/memberships";
import { bumpOwnerVersions } from "@latchkey/db/owner-versions";
import { deleteOwnershipTransferOf } from "@latchkey/db/ownership-transfers";
import type { Position } from "@latchkey/db/page";
import type { Role } from "@latchkey/db/role";
import type { Db, Trx } from "@latchkey/db/schema";
import type { Versions } from "@latchkey/db/versions";
import {
  enterAsUser,
  enterWorkspace,
  inWorkspace,
  type WorkspaceScope,
  type WorkspaceTrx,
} from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { type Edit, enterForEdit } from "./enter-for-edit.ts";
import { addQuotaNotice, type Quotas, requireQuota } from "./quotas.ts";
import { removeServiceAccount } from "./remove-service-account.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { requireStillActing } from "./require-still-acting.ts";
import { addWorkspaceQuotaNotice } from "./workspace-quotas.ts";

/** @throws {AppError} NOT_FOUND */
export async function getMember(trx: WorkspaceTrx, scope: WorkspaceScope, userId: UserId): Promise<Member> {
  const member = await findMember(trx, scope, userId);
  if (!member) throw new AppError("NOT_FOUND", { message: "There is no such member." });
  return member;
}

/** How many members {@link listEveryMember} keeps in memory at a time. */
const membersPerPage = 100;

/**
 * Lists every member of a workspace in the order in which they joined. A member who joins while the list is read
 * may be missing.
 */
export async function* listEveryMember(db: Db, scope: WorkspaceScope): AsyncGenerator<Member> {
  const order = { sort: "joinedAt", direction: "asc", limit: membersPerPage, filter: {} } as const;
  let after: Position | undefined;
  do {
    // Ends the transaction before yielding the page, because the consumer may take any amount of time.
    const members = await inWorkspace(db, scope, (trx) => listMembers(trx, scope, { ...order, after }));
    yield* members;
    const last = members.length === membersPerPage ? members.at(-1) : undefined;
    after = last && { value: last.position, id: last.userId };
  } while (after);
}

/**
 * Changes a member's role. Once this is committed, it applies to their keys and sessions on every node.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN if either role has permissions that the actor's role
 *   doesn't have, CONFLICT for the last owner and if a service account would become an owner, UNPROCESSABLE_CONTENT if the
 *   new owner already owns as many workspaces as the quota allows.
 */
export async function changeMemberRole(
  trx: Trx,
  edit: Edit,
  change: { readonly userId: UserId; readonly role: Role; readonly versions: Versions },
  quotas: Quotas,
): Promise<Member> {
  const { scope, origin } = edit;
  const { userId, role, versions } = change;
  const { workspaceTrx, member, canGrant } = await lockMember(trx, edit, userId);
  if (!canGrant(member.role) || !canGrant(role)) throw new AppError("FORBIDDEN");
  if (role === "owner" && member.kind === "service_account") {
    throw new AppError("CONFLICT", { message: "A service account can’t own a workspace." });
  }
  if (isHigherRole(role, member.role)) requireRecentAuthentication(origin);
  if (member.role === role && (versions?.includes(member.version) ?? true)) return member;
  if (!(await updateMemberRole(workspaceTrx, scope, change))) throw new AppError("PRECONDITION_FAILED");
  if (member.role === "owner") await requireOtherOwner(workspaceTrx, scope, userId);
  if (role === "owner") await requireOwnershipQuota(trx, { scope, userId }, quotas);
  // An offer by or to the member is void, and must not be pending again if they get the former role back.
  if (member.role === "owner" || role === "owner")
    await deleteOwnershipTransferOf(workspaceTrx, scope, [userId]);
  await appendAudit(workspaceTrx, scope, origin, {
    action: "member.role-changed",
    targetId: userId,
    before: { role: member.role },
    after: { role },
  });
  if (!roleHasPermission(role, "members:manage"))
    await deleteServiceAccountNotices(workspaceTrx, userId, scope.workspaceId);
  const changed = await getMember(workspaceTrx, scope, userId);
  await bumpOwnerVersions(workspaceTrx, [userId]);
  return changed;
}

/**
 * Removes a member from a workspace. Any person may leave, but a key needs the permission to manage members. Once this
 * is committed, neither their keys nor their sessions reach the workspace. A service account is deleted
 * instead. It can't delete itself: a leaked key must not be able to delete its account.
 * @throws {AppError} NOT_FOUND, PRECONDITION_FAILED, FORBIDDEN if the member's role has permissions that the actor's
 *   role doesn't have and for a service account that would delete itself, CONFLICT for the last owner.
 */
export async function removeMember(
  trx: Trx,
  edit: Edit,
  removal: { readonly userId: UserId; readonly versions?: Versions },
): Promise<void> {
  const { scope, origin } = edit;
  const { userId } = removal;
  const { workspaceTrx, member, isSelf, canGrant, canLeave } = await lockMember(trx, edit, userId, {
    isRemoval: true,
  });
  if (isSelf && member.kind === "service_account") {
    const message = "A service account can’t delete itself. An owner or admin can delete it.";
    throw new AppError("FORBIDDEN", { message });
  }
  if (!canLeave && !canGrant(member.role)) throw new AppError("FORBIDDEN");
  if (member.kind === "service_account")
    return await removeServiceAccount(workspaceTrx, edit, { ...member, versions: removal.versions });
  if (!(await deleteMember(workspaceTrx, scope, removal))) throw new AppError("PRECONDITION_FAILED");
  if (member.role === "owner") await requireOtherOwner(workspaceTrx, scope, userId);
  await appendAudit(workspaceTrx, scope, origin, {
    action: "member.removed",
    targetId: userId,
    before: { role: member.role },
  });
  await deleteServiceAccountNotices(workspaceTrx, userId, scope.workspaceId);
  await bumpOwnerVersions(workspaceTrx, [userId]);
}

/**
 * Adds a user to a workspace.
 * @throws {AppError} CONFLICT if the user is already a member, or would join a workspace without an owner who can sign in;
 *   UNPROCESSABLE_CONTENT at a quota; and the errors of {@link enterForEdit}.
 */
export async function addMember(
  trx: Trx,
  edit: Edit,
  { userId, role }: { readonly userId: UserId; readonly role: Role },
  quotas: Quotas,
): Promise<Member> {
  const { scope, origin } = edit;
  const permission = "members:manage";
  const { workspaceTrx } = await enterForEdit(trx, edit, permission);
  const requirement = { scope, permission } as const;
  await requireStillActing(workspaceTrx, origin, { others: [userId], requirement });
  if (!(await insertMember(workspaceTrx, scope, { userId, role }))) {
    throw new AppError("CONFLICT", { message: "This user is already a member." });
  }
  const remedy = "Enable an owner, or add this user as an owner.";
  await requireOwnerToJoin(workspaceTrx, scope, { userId, role, remedy });
  await requireMemberQuota(workspaceTrx, scope, quotas);
  await requireMembershipQuota(workspaceTrx, { scope, userId }, quotas);
  if (role === "owner") await requireOwnershipQuota(trx, { scope, userId }, quotas);
  await appendAudit(workspaceTrx, scope, origin, {
    action: "member.added",
    targetId: userId,
    after: { role },
  });
  const added = await getMember(workspaceTrx, scope, userId);
  if (added.email) await deleteInvitation(workspaceTrx, scope, { email: added.email }); // Its link becomes invalid.
  await bumpOwnerVersions(workspaceTrx, [userId]);
  return added;
}

/**
 * Locks and reads everything that decides on a change to a member, including the actor's role, which may have changed
 * since admission.
 */
async function lockMember(
  trx: Trx,
  edit: Edit,
  userId: UserId,
  { isRemoval = false }: { readonly isRemoval?: boolean } = {},
) {
  const { scope, origin } = edit;
  const permission = "members:read";
  const isSelf = origin.actor.kind !== "command" && origin.actor.userId === userId;
  const canLackSecondFactor = isRemoval && isSelf;
  const { workspaceTrx, role } = await enterForEdit(trx, edit, permission, { canLackSecondFactor });
  const member = await getMember(workspaceTrx, scope, userId);
  const requirement = { scope, permission } as const;
  const { restrictions } =
    (await requireStillActing(workspaceTrx, origin, { others: [userId], requirement })) ?? {};
  const canLeave = isSelf && member.kind === "person" && allowsPermission(restrictions, "members:manage");
  const canGrant = (granted: Role): boolean => canGrantRole(role, restrictions, granted);
  return { workspaceTrx, member, isSelf, canGrant, canLeave };
}

/**
 * Checks that a workspace that a person joins has an owner who can sign in, unless the person becomes an owner. A last owner can be
 * disabled if no other people are members (docs/decisions/0010), and nobody else could then transfer ownership. The lock on the
 * workspace prevents an owner from being disabled between this check and the commit.
 * @param joining.remedy what to do, for the message.
 * @throws {AppError} CONFLICT
 */
export async function requireOwnerToJoin(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  joining: { readonly userId: UserId; readonly role: Role; readonly remedy: string },
): Promise<void> {
  const { userId, role, remedy } = joining;
  if (role === "owner" || (await hasOtherOwner(trx, scope, userId))) return;
  throw new AppError("CONFLICT", { message: `This workspace has no owner who can sign in. ${remedy}` });
}

/**
 * Checks that a workspace with a new member has no more people than the quota allows. The lock on the workspace prevents
 * concurrent additions between the insert and the count.
 * @throws {AppError} UNPROCESSABLE_CONTENT
 */
export async function requireMemberQuota(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  quotas: Quotas,
): Promise<void> {
  const quota = "membersPerWorkspace";
  const count = await countMembers(trx, scope, { kind: "person" });
  requireQuota(quotas, quota, count - 1);
  await addWorkspaceQuotaNotice(trx, scope, quotas, { quota, count });
}

/**
 * Checks that a new member is a member of no more workspaces than the quota allows, because a change to a key runs
 * statements for each of them. The user is locked, so a membership that they get concurrently is either counted here or
 * counts this one.
 * @throws {AppError} UNPROCESSABLE_CONTENT
 */
export async function requireMembershipQuota(
  trx: Trx,
  { scope, userId }: { readonly scope: WorkspaceScope; readonly userId: UserId },
  quotas: Quotas,
): Promise<void> {
  const count = await countMemberships(await enterAsUser(trx, userId), userId);
  await enterWorkspace(trx, scope);
  requireQuota(quotas, "membershipsPerUser", count - 1);
}

/**
 * Checks that a new owner owns no more workspaces than the quota allows. The user is locked, so a workspace that they
 * get concurrently is either counted here or counts this one.
 * @throws {AppError} UNPROCESSABLE_CONTENT
 */
export async function requireOwnershipQuota(
  trx: Trx,
  { scope, userId }: { readonly scope: WorkspaceScope; readonly userId: UserId },
  quotas: Quotas,
): Promise<void> {
  // Row-level security shows a transaction either one workspace or the memberships of one user.
  const owned = await listOwnedWorkspaces(await enterAsUser(trx, userId), userId);
  await enterWorkspace(trx, scope);
  requireQuota(quotas, "workspacesPerUser", owned.length - 1);
  await addQuotaNotice(trx, quotas, { quota: "workspacesPerUser", count: owned.length, userIds: [userId] });
}

/** @throws {AppError} CONFLICT if the workspace has no other owner who can sign in. */
async function requireOtherOwner(trx: WorkspaceTrx, scope: WorkspaceScope, userId: UserId): Promise<void> {
  if (await hasOtherOwner(trx, scope, userId)) return;
  throw new AppError("CONFLICT", {
    message: "This is the workspace’s last owner. Transfer ownership to another member first.",
  });
}
