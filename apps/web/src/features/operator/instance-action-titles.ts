import { actionTitles } from "../../server/action-titles.ts";
import type { InstanceEvent } from "../../server/trpc.ts";

export type InstanceAction = InstanceEvent["action"];

/** The label of each action of the instance log, in filters and in the log. */
export const instanceActionTitles = {
  "audit-log.exported": "Audit log exported",
  "backup.created": "Backup created",
  "backup.restored": "Backup restored",
  "operator.granted": "Operator role granted",
  "operator.revoked": "Operator role revoked",
  "registration.changed": "Registration changed",
  "user.created": "User created",
  "user.deleted": "User deleted",
  "user.disabled": "User disabled",
  "user.enabled": "User enabled",
  "webhook.redelivered": "Webhook message redelivered",
  "webhook.tested": "Webhook tested",
  "workspace.deleted": "Workspace deleted",
  "account.renamed": "User renamed",
  "account.email-change-requested": "Email change requested",
  "account.email-changed": "Email address changed",
  "account.email-verified": "Email address verified",
  "password.changed": "Password changed",
  "password.reset": "Password reset",
  "password.reset-link-created": "Password reset link created",
  "password.reset-link-emailed": "Password reset link emailed",
  "password.set": "Password set",
  "identity.linked": "Sign-in method linked",
  "identity.unlinked": "Sign-in method removed",
  "totp.enabled": "Authenticator app enabled",
  "totp.disabled": "Authenticator app disabled",
  "passkey.added": "Passkey added",
  "passkey.renamed": "Passkey renamed",
  "passkey.removed": "Passkey removed",
  "recovery-codes.created": "Recovery codes created",
  "recovery-code.used": "Recovery code used",
  "second-factor.failed": "Second factor failed",
  "second-factors.reset": "Second factors reset",
  "sign-in.succeeded": "Signed in",
  "sign-in.failed": "Sign-in failed",
  "session.ended": "Sessions ended",
  "session.signed-out": "Signed out",
  ...actionTitles,
} as const satisfies Record<InstanceAction, string>;

export function isInstanceAction(text: unknown): text is InstanceAction {
  return typeof text === "string" && Object.hasOwn(instanceActionTitles, text);
}
