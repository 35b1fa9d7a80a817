import type { NoticeSetting } from "./trpc.ts";

/** The label of each kind of notice. */
export const noticeKindTitles = {
  invitation: "Invitation to a workspace",
  "role-changed": "Your role changed",
  "key-expires-in-7-days": "API key expires within 7 days",
  "key-expires-in-1-day": "API key expires within 1 day",
  "former-secret-used": "Old secret used after its overlap",
  "new-network": "API key used from a new network",
  "new-device": "Sign-in from a new device",
  "quota-nearly-reached": "Quota nearly reached",
} as const satisfies Record<NoticeSetting["kind"], string>;

/** Whether this version knows the kind. A newer node may have recorded another one. */
export function isNoticeKind(text: unknown): text is NoticeSetting["kind"] {
  return typeof text === "string" && Object.hasOwn(noticeKindTitles, text);
}
