import { canInviteAs } from "@latchkey/auth/restrictions";
import type { Invitation } from "@latchkey/db/invitations";

/**
 * `invalid`: the user who sent the invitation is disabled, is no longer a member, or can no longer invite people with the role.
 * Another user can send it again.
 */
export type InvitationStatus = "pending" | "expired" | "invalid";

export function statusOf({ isExpired, inviter, role }: Invitation): InvitationStatus {
  if (isExpired) return "expired";
  if (inviter === null) return "pending"; // The `latchkey` command can grant every role.
  const isValid = !inviter.isDisabled && inviter.role && canInviteAs(inviter.role, undefined, role);
  return isValid ? "pending" : "invalid";
}
