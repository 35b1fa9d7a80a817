import { type Permission, roleHasPermission } from "@latchkey/auth/permissions";
import { workspaceDisabled } from "@latchkey/auth/workspace-access";
import type { Origin } from "@latchkey/db/audit-actions";
import { encodeId, type WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/role";
import type { Trx } from "@latchkey/db/schema";
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
 * because it may have changed since admission. Call `requireStillActing` next, which checks the user and the key
 * again.
 * @returns the role of the actor; the `latchkey` command may do everything that an owner may.
 * @throws {AppError} FORBIDDEN without the permission, if the workspace is disabled, and if it doesn't exist, so that callers
 *   can't tell whether it ever existed; for the operator, NOT_FOUND.
 */
export async function enterForEdit(
  trx: Trx,
  { scope, origin: { actor } }: Edit,
  permission: Permission,
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
  return { workspaceTrx, role: membership.role };
}

/**
 * For the operator only: other callers can't distinguish a missing workspace from one that isn't theirs.
 * @throws {AppError} NOT_FOUND
 */
export function workspaceNotFound(id: WorkspaceId): never {
  throw new AppError("NOT_FOUND", { message: `There is no workspace ${encodeId("workspace", id)}.` });
}
