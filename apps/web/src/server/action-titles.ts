import type { AuditEvent, SecurityEvent } from "./trpc.ts";

export type AuditAction = AuditEvent["action"];
type KeyAction = Extract<SecurityEvent["action"], `key.${string}`>;

/** The label of each change to an API key. */
export const keyActionTitles = {
  "key.created": "API key created",
  "key.renamed": "API key renamed",
  "key.restricted": "API key restricted",
  "key.expanded": "API key access expanded",
  "key.disabled": "API key disabled",
  "key.enabled": "API key enabled",
  "key.rotated": "API key rotated",
  "key.secret-reissued": "Unused secret replaced",
  "key.former-secrets-revoked": "Old secrets revoked",
  "key.deleted": "API key deleted",
} as const satisfies Record<KeyAction, string>;

/** The label of each action in filters. */
export const actionTitles = {
  "workspace.created": "Workspace created",
  "workspace.renamed": "Workspace renamed",
  "workspace.description-changed": "Workspace description changed",
  "workspace.second-factor-requirement-changed": "Second factor requirement changed",
  "workspace.audit-retention-changed": "Audit log retention changed",
  "api-key-policy.changed": "API key policy changed",
  "key.blocked": "API key blocked",
  "key.unblocked": "API key unblocked",
  "member.added": "Member added",
  "member.role-changed": "Role changed",
  "member.removed": "Member removed",
  "member.joined": "Member joined",
  "service-account.created": "Service account created",
  "service-account.renamed": "Service account renamed",
  "service-account.disabled": "Service account disabled",
  "service-account.enabled": "Service account enabled",
  "service-account.deleted": "Service account deleted",
  "member.account-deleted": "Account of a member deleted",
  "ownership.offered": "Ownership offered",
  "ownership.accepted": "Ownership accepted",
  "ownership.declined": "Ownership declined",
  "ownership.withdrawn": "Ownership offer withdrawn",
  "ownership.transferred": "Ownership transferred",
  "invitation.created": "Invitation sent",
  "invitation.resent": "Invitation sent again",
  "invitation.revoked": "Invitation revoked",
  "webhook.created": "Webhook created",
  "webhook.changed": "Webhook changed",
  "webhook.enabled": "Webhook enabled",
  "webhook.disabled": "Webhook disabled",
  "webhook.secret-rotated": "Webhook secret rotated",
  "webhook.deleted": "Webhook deleted",
  ...keyActionTitles,
} as const satisfies Record<AuditAction, string>;
