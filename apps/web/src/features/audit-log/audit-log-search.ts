import { isDay } from "../../ui/days.ts";
import { isIdOf } from "../../ui/is-id-of.ts";
import { type LogTableSearch, parseLogTableSearch } from "../../ui/table-search.ts";

/** The filter of the audit log in the URL. */
export interface AuditLogFilter {
  /** An action, or a text of its form, which filters nothing: the router is loaded without the list of actions. */
  readonly action?: string;
  /** The ID of the user who made the changes. */
  readonly actor?: string;
  /** The ID of the member, API key, invitation or workspace that was changed. */
  readonly target?: string;
  /** The first and the last day, such as `2026-03-01`, in the reader's time zone. */
  readonly from?: string;
  readonly to?: string;
}

/** The search part of the URL of the audit log. */
export interface AuditLogSearch extends LogTableSearch, AuditLogFilter {}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseAuditLogSearch(search: Record<string, unknown>): AuditLogSearch {
  const { action, actor, target, from, to } = search;
  return {
    ...parseLogTableSearch(search),
    ...(isAction(action) && { action }),
    ...(isIdOf(actor, "usr") && { actor }),
    ...(isTarget(target) && { target }),
    ...(isDay(from) && { from }),
    ...(isDay(to) && { to }),
  };
}

/** Whether a text has the form of an action, such as `member.role-changed`. */
function isAction(text: unknown): text is string {
  return typeof text === "string" && /^[a-z-]+\.[a-z-]+$/.test(text);
}

/** Whether a text is the ID of something that an event can be about. */
export function isTarget(text: unknown): text is string {
  return isIdOf(text, "usr", "key", "inv", "whk", "ws");
}
