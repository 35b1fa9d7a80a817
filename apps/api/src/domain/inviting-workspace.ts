import { isHigherRole } from "@latchkey/auth/permissions";
import { canInviteAs, hasPermission, type Restrictions } from "@latchkey/auth/restrictions";
import type { UserId } from "@latchkey/db/ids";
import type { Invitation, InvitationFilter } from "@latchkey/db/invitations";
import type { Role } from "@latchkey/db/role";
import type { Trx } from "@latchkey/db/schema";
import type { WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { type Edit, enterForEdit } from "./enter-for-edit.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { requireStillActing } from "./require-still-acting.ts";

/** A locked workspace, and what the actor may do with its invitations. */
export interface InvitingWorkspace {
  readonly workspaceTrx: WorkspaceTrx;
  /**
   * Whether the actor manages this invitation. A user who manages only their own invitations gets NOT_FOUND for all
   * others.
   */
  readonly manages: (invitation: Invitation) => boolean;
  /** The user whose invitations the actor manages, if not all. */
  readonly invitedBy: UserId | undefined;
  readonly canInvite: (role: Role) => boolean;
  /** @throws {AppError} FORBIDDEN. A role that manages members also requires recent authentication. */
  readonly requireInvite: (role: Role) => void;
}

/**
 * Enters a workspace to change its invitations, and checks the actor under the lock.
 * @throws {AppError} FORBIDDEN without the permission to invite people.
 */
export async function enterInvitingWorkspace(trx: Trx, edit: Edit): Promise<InvitingWorkspace> {
  const { scope, origin } = edit;
  const permission = "members:invite";
  const { workspaceTrx, role: ownRole } = await enterForEdit(trx, edit, permission);
  const requirement = { scope, permission } as const;
  const { restrictions } = (await requireStillActing(workspaceTrx, origin, { requirement })) ?? {};
  const { actor } = origin;
  const { invitedBy } =
    actor.kind === "command" ? {} : managedInvitations({ userId: actor.userId, role: ownRole }, restrictions);
  const canInvite = (role: Role): boolean => canInviteAs(ownRole, restrictions, role);
  return {
    workspaceTrx,
    invitedBy,
    manages: ({ inviter }) => invitedBy === undefined || inviter?.userId === invitedBy,
    canInvite,
    requireInvite: (role) => {
      if (!canInvite(role)) throw new AppError("FORBIDDEN");
      if (isHigherRole(role, "member")) requireRecentAuthentication(origin);
    },
  };
}

/** The invitations that a user may see and change: all with the permission to manage members, otherwise their own. */
export function managedInvitations(
  { userId, role }: { readonly userId: UserId; readonly role: Role },
  restrictions?: Restrictions,
): InvitationFilter {
  return hasPermission(role, restrictions, "members:manage") ? {} : { invitedBy: userId };
}
