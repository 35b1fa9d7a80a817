import { roles } from "@latchkey/auth/permissions";
import { canInviteAs } from "@latchkey/auth/restrictions";
import type { Invitation, InvitationStatus, StatusFilter } from "@latchkey/db/invitations";

export function statusOf({ isExpired, inviter, role }: Invitation): InvitationStatus {
  if (isExpired) return "expired";
  if (inviter === null) return "pending"; // The `latchkey` command can grant every role.
  const isValid = !inviter.isDisabled && inviter.role && canInviteAs(inviter.role, undefined, role);
  return isValid ? "pending" : "invalid";
}

const grants = roles.flatMap((inviter) =>
  roles
    .filter((invited) => canInviteAs(inviter, undefined, invited))
    .map((invited) => ({ inviter, invited })),
);

/**
 * A filter for the invitations with a status, as `statusOf` determines it. The query can't read the role catalog, so
 * the filter contains the result of `canInviteAs` for every pair of roles.
 */
export function filterByStatus(status: InvitationStatus | undefined): StatusFilter | undefined {
  return status && { status, grants };
}
