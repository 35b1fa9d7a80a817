import { type AuditAction, actionTitles } from "../../server/action-titles.ts";

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
