import { type Permission, roleHasPermission } from "@latchkey/auth/permissions";
import { secondFactorRequired, workspaceDisabled } from "@latchkey/auth/workspace-access";
import type { Origin } from "@latchkey/db/audit-actions";
import { encodeId, type WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/role";
import type { Trx } from "@latchkey/db/schema";
import { hasSecondFactor } from "@latchkey/db/second-factors";
import { lockWorkspace } from "@latchkey/db/workspace-locks";
import { enterWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { findMembership } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";

/** The workspace to change, and the origin of the change. */
export interface Edit {
  readonly scope: WorkspaceScope;
  readonly origin: Origin;
}

/**
 * Enters a workspace in a transaction, and locks it against concurrent changes. Under the lock, checks the role again,
 * because it may have changed since admission, and so may whether the workspace requires a second factor. Call
 * `requireStillActing` next, which checks the user and the key again.
 * @param options.canLackSecondFactor whether a member may do it without a second factor that the workspace requires; false
 *   by default.
 * @returns the role of the actor; the `latchkey` command may do everything that an owner may.
 * @throws {AppError} FORBIDDEN without the permission or a required second factor, if the workspace is disabled, and if it
 *   doesn't exist, so that callers can't tell whether it ever existed; for the operator, NOT_FOUND.
 */
export async function enterForEdit(
  trx: Trx,
  { scope, origin: { actor } }: Edit,
  permission: Permission,
  { canLackSecondFactor = false }: { readonly canLackSecondFactor?: boolean } = {},
): Promise<{ readonly workspaceTrx: WorkspaceTrx; readonly role: Role }> {
  const workspaceTrx = await enterWorkspace(trx, scope);
  const isFound = await lockWorkspace(workspaceTrx, scope);
  if (actor.kind === "command") {
    return isFound ? { workspaceTrx, role: "owner" } : workspaceNotFound(scope.workspaceId);
  }
  const membership = isFound
    ? await findMembership(workspaceTrx, { userId: actor.userId, workspaceId: scope.workspaceId })
    : undefined;
  if (!membership || !roleHasPermission(membership.role, permission)) throw new AppError("FORBIDDEN");
  if (membership.disabledAt) throw workspaceDisabled();
  // For a key, `requireStillActing` checks it.
  const needsFactor = membership.requiresSecondFactor && actor.kind === "session" && !canLackSecondFactor;
  if (needsFactor && !(await hasSecondFactor(workspaceTrx, actor.userId))) throw secondFactorRequired();
  return { workspaceTrx, role: membership.role };
}

/**
 * For the operator only: other callers can't distinguish a missing workspace from one that isn't theirs.
 * @throws {AppError} NOT_FOUND
 */
export function workspaceNotFound(id: WorkspaceId): never {
  throw new AppError("NOT_FOUND", { message: `There is no workspace ${encodeId("workspace", id)}.` });
}
