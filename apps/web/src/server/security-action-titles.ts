import { keyActionTitles } from "./action-titles.ts";
import type { SecurityEvent } from "./trpc.ts";

export type SecurityAction = SecurityEvent["action"];

/** The label of each event of a user's account. */
export const accountActionTitles = {
  "account.renamed": "Name changed",
  "account.email-change-requested": "Email change requested",
  "account.email-changed": "Email address changed",
  "account.email-verified": "Email address verified",
  "notice-setting.changed": "Notice setting changed",
  "password.changed": "Password changed",
  "password.reset": "Password reset",
  "password.reset-link-created": "Password reset link created",
  "password.reset-link-emailed": "Password reset link emailed",
  "password.set": "Password set",
  "identity.linked": "Sign-in method linked",
  "identity.unlinked": "Sign-in method unlinked",
  "totp.enabled": "Authenticator app set up",
  "totp.disabled": "Authenticator app removed",
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
} as const satisfies Record<Exclude<SecurityAction, keyof typeof keyActionTitles>, string>;

/** The label of each action of the security log. */
export const securityActionTitles = { ...accountActionTitles, ...keyActionTitles };

export function isSecurityAction(text: unknown): text is SecurityAction {
  return typeof text === "string" && Object.hasOwn(securityActionTitles, text);
}
