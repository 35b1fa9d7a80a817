import type { AuditEvent } from "../../server/trpc.ts";

export type AuditAction = AuditEvent["action"];

/** The label of each action in the filter. */
export const actionTitles = {
  "workspace.created": "Workspace created",
  "workspace.renamed": "Workspace renamed",
  "workspace.description-changed": "Workspace description changed",
  "member.added": "Member added",
  "member.role-changed": "Role changed",
  "member.removed": "Member removed",
  "member.joined": "Member joined",
  "invitation.created": "Invitation sent",
  "invitation.resent": "Invitation sent again",
  "invitation.revoked": "Invitation revoked",
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

/** The search part of the URL of the audit log. */
export interface AuditLogSearch {
  readonly action?: AuditAction;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseAuditLogSearch({ action }: Record<string, unknown>): AuditLogSearch {
  return isAction(action) ? { action } : {};
}

export function isAction(text: unknown): text is AuditAction {
  return typeof text === "string" && Object.hasOwn(actionTitles, text);
}
