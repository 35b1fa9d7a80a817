import type { AuditEvent } from "./trpc.ts";

export type AuditAction = AuditEvent["action"];

/** The label of each action in filters. */
export const actionTitles = {
  "workspace.created": "Workspace created",
  "workspace.renamed": "Workspace renamed",
  "workspace.description-changed": "Workspace description changed",
  "member.added": "Member added",
  "member.role-changed": "Role changed",
  "member.removed": "Member removed",
  "member.joined": "Member joined",
  "service-account.created": "Service account created",
  "service-account.renamed": "Service account renamed",
  "service-account.disabled": "Service account disabled",
  "service-account.enabled": "Service account enabled",
  "service-account.deleted": "Service account deleted",
  "invitation.created": "Invitation sent",
  "invitation.resent": "Invitation sent again",
  "invitation.revoked": "Invitation revoked",
  "webhook.created": "Webhook created",
  "webhook.changed": "Webhook changed",
  "webhook.enabled": "Webhook enabled",
  "webhook.disabled": "Webhook disabled",
  "webhook.secret-rotated": "Webhook secret rotated",
  "webhook.deleted": "Webhook deleted",
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
} as const satisfies Record<AuditAction, string>;
