import { isIdOf } from "../../ui/is-id-of.ts";
import { type LogFilter, parseLogFilter } from "../../ui/log-filter.ts";
import { type LogTableSearch, parseLogTableSearch } from "../../ui/table-search.ts";

/** The search part of the URL of the instance log. */
export interface LogSearch extends LogTableSearch, LogFilter {}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseLogSearch(search: Record<string, unknown>): LogSearch {
  return { ...parseLogTableSearch(search), ...parseLogFilter(search, isLogTarget) };
}

/** Whether a text is the ID of something that an event of the instance log can be about. */
export function isLogTarget(text: unknown): text is string {
  return isIdOf(text, "usr", "ws");
}
