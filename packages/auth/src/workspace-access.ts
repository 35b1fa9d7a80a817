import type { InvitationId, UserId, WorkspaceId } from "@latchkey/db/ids";
import { mintWorkspaceScope } from "@latchkey/db/mint-workspace-scope";
import type { Role } from "@latchkey/db/role";
import type { Db, Trx } from "@latchkey/db/schema";
import { findVerification } from "@latchkey/db/verifications";
import { asUser, enterAsUser, type WorkspaceScope } from "@latchkey/db/workspace-scope";
import { findMembership, listOwnWorkspaceIds } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { type Permission, roleHasPermission } from "./permissions.ts";

/**
 * The result of a membership check: the user, the user's role in the workspace, and the scope that proves the check.
 */
export interface WorkspaceAccess {
  readonly scope: WorkspaceScope;
  readonly userId: UserId;
  readonly role: Role;
}

/**
 * Checks that a signed-in user has a permission in a workspace, based on the current data in the database. Admission
 * checks requests with a key.
 *
 * @throws {AppError} FORBIDDEN, the same for a workspace that does not exist and for one that the user is not a member
 *   of; with an issue `second_factor_required` if only the second factor is missing, and `workspace_disabled` if the
 *   workspace is disabled.
 */
export async function requireWorkspaceAccess(
  db: Db,
  membership: MembershipClaim,
  permission: Permission,
): Promise<WorkspaceAccess> {
  const access = await findWorkspaceAccess(db, membership, permission);
  if (!access) throw new AppError("FORBIDDEN");
  return access;
}

/** What a session claims about a membership; its role is read from the database. */
export interface MembershipClaim {
  readonly userId: UserId;
  readonly workspaceId: WorkspaceId;
  /** Whether the session proved a second factor. */
  readonly hasSecondFactor: boolean;
  /** Whether the access is allowed without a second factor that the workspace requires; false by default. */
  readonly canLackSecondFactor?: boolean;
}

/**
 * Does the same as {@link requireWorkspaceAccess}, but returns undefined if the user doesn't have the permission.
 * @throws {AppError} FORBIDDEN with an issue `workspace_disabled` if the workspace is disabled, or `second_factor_required`
 *   if it requires a second factor.
 */
export async function findWorkspaceAccess(
  db: Db,
  { userId, workspaceId, hasSecondFactor, canLackSecondFactor = false }: MembershipClaim,
  permission: Permission,
): Promise<WorkspaceAccess | undefined> {
  const membership = await asUser(db, userId, (trx) => findMembership(trx, { userId, workspaceId }));
  if (!membership || !roleHasPermission(membership.role, permission)) return undefined;
  const { role, requiresSecondFactor, disabledAt } = membership;
  if (disabledAt) throw workspaceDisabled();
  if (requiresSecondFactor && !hasSecondFactor && !canLackSecondFactor) throw secondFactorRequired();
  return { scope: mintWorkspaceScope(workspaceId), userId, role };
}

/** The error for a member without the second factor that the workspace requires. */
export function secondFactorRequired(): AppError {
  const message = "This workspace requires a second factor. Set one up for your account.";
  return new AppError("FORBIDDEN", {
    message,
    issues: [{ path: "", code: "second_factor_required", message }],
  });
}

/**
 * The error for members of a disabled workspace, with the same message as for anyone else who may not use a workspace.
 * @param message replaces the message, for people who are not members.
 */
export function workspaceDisabled(message?: string): AppError {
  const issue = {
    path: "",
    code: "workspace_disabled",
    message: "An operator of this instance disabled the workspace.",
  } as const;
  return new AppError("FORBIDDEN", { issues: [issue], ...(message && { message }) });
}

/**
 * Opens the workspaces that a key can reach, in the order of their IDs, to record a change of the key in each of them.
 * They are the workspaces that its owner is a member of, unless the key is restricted to other workspaces.
 * @param key.workspaceIds null for all of the owner's workspaces.
 */
export async function openReachedWorkspaces(
  trx: Trx,
  key: { readonly ownerId: UserId; readonly workspaceIds: readonly WorkspaceId[] | null },
): Promise<readonly WorkspaceScope[]> {
  if (key.workspaceIds?.length === 0) return [];
  const ids = await listOwnWorkspaceIds(await enterAsUser(trx, key.ownerId), key.ownerId, key.workspaceIds);
  return ids.map((id) => mintWorkspaceScope(id));
}

/** The subject of a verification for an invitation. */
export function invitationSubject(scope: WorkspaceScope, id: InvitationId): string {
  return `${scope.workspaceId}/${id}`;
}

/**
 * Opens the workspace of an invitation for someone who has its link. They may see and accept the invitation, and
 * nothing else in the workspace.
 * @param digest SHA-256 of the link's token.
 * @returns undefined if the link was replaced, used or revoked, or has expired.
 */
export async function openInvitedWorkspace(
  db: Db,
  digest: Buffer,
): Promise<{ readonly scope: WorkspaceScope; readonly invitationId: InvitationId } | undefined> {
  const subject = await findVerification(db, { purpose: "invitation", digest });
  const [workspaceId, invitationId] = subject?.split("/") ?? [];
  if (workspaceId === undefined || invitationId === undefined) return undefined;
  // `invitationSubject` wrote both IDs.
  return {
    scope: mintWorkspaceScope(workspaceId as WorkspaceId),
    invitationId: invitationId as InvitationId,
  };
}

/**
 * Opens any workspace without a check. Only for callers that have already authorized the actor in another way, or that don't act on
 * behalf of a user: the `latchkey` command, whose user has access to the database anyway; the operators' pages; the deletion of an
 * account, for the workspaces of its user; the jobs of invitations and webhooks; and the notice to the managers of a service account about its quota of keys.
 */
export function openAsOperator(workspaceId: WorkspaceId): WorkspaceScope {
  return mintWorkspaceScope(workspaceId);
}
