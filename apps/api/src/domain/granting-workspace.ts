import { isHigherRole } from "@latchkey/auth/permissions";
import { canGrantRole } from "@latchkey/auth/restrictions";
import type { UserId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/role";
import type { Trx } from "@latchkey/db/schema";
import type { WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { type Edit, enterForEdit } from "./enter-for-edit.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { type ActingKey, requireStillActing } from "./require-still-acting.ts";

/** A locked workspace, and the roles that the actor may grant in it. */
export interface GrantingWorkspace {
  readonly workspaceTrx: WorkspaceTrx;
  /** The key of the actor, if any. */
  readonly key: ActingKey | undefined;
  readonly canGrant: (role: Role) => boolean;
  /** @throws {AppError} FORBIDDEN. A role that manages members also requires recent authentication. */
  readonly requireGrant: (role: Role) => void;
}

/**
 * Enters a workspace to grant a role to a person or a service account, and checks the actor under the lock.
 * @param others the other users that the change affects, who are locked too.
 * @throws {AppError} FORBIDDEN without the permission to manage members.
 */
export async function enterGrantingWorkspace(
  trx: Trx,
  edit: Edit,
  others: readonly UserId[] = [],
): Promise<GrantingWorkspace> {
  const { scope, origin } = edit;
  const permission = "members:manage";
  const { workspaceTrx, role: ownRole } = await enterForEdit(trx, edit, permission);
  const requirement = { scope, permission } as const;
  const key = await requireStillActing(workspaceTrx, origin, { others, requirement });
  const canGrant = (role: Role): boolean => canGrantRole(ownRole, key?.restrictions, role);
  return {
    workspaceTrx,
    key,
    canGrant,
    requireGrant: (role) => {
      if (!canGrant(role)) throw new AppError("FORBIDDEN");
      if (isHigherRole(role, "member")) requireRecentAuthentication(origin);
    },
  };
}
