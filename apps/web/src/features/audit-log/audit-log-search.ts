import { isIdOf } from "../../ui/is-id-of.ts";
import { type LogFilter, parseLogFilter } from "../../ui/log-filter.ts";
import { type LogTableSearch, parseLogTableSearch } from "../../ui/table-search.ts";

/** The search part of the URL of the audit log. */
export interface AuditLogSearch extends LogTableSearch, LogFilter {}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseAuditLogSearch(search: Record<string, unknown>): AuditLogSearch {
  return { ...parseLogTableSearch(search), ...parseLogFilter(search, isTarget) };
}

/** Whether a text is the ID of something that an event can be about. */
export function isTarget(text: unknown): text is string {
  return isIdOf(text, "usr", "key", "inv", "whk", "ws", "ks", "ikey", "csm");
}
