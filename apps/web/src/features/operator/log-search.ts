import { isDay } from "../../ui/days.ts";
import { isIdOf } from "../../ui/is-id-of.ts";
import { type LogTableSearch, parseLogTableSearch } from "../../ui/table-search.ts";

/** The filter of the instance log in the URL. */
export interface LogFilter {
  /** An action, or a text of its form, which filters nothing: the router is loaded without the list of actions. */
  readonly action?: string;
  /** The ID of the user who made the changes. */
  readonly actor?: string;
  /** The ID of the user or the workspace that the events are about. */
  readonly target?: string;
  /** The first and the last day, such as `2026-03-01`, in the reader's time zone. */
  readonly from?: string;
  readonly to?: string;
}

/** The search part of the URL of the instance log. */
export interface LogSearch extends LogTableSearch, LogFilter {}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseLogSearch(search: Record<string, unknown>): LogSearch {
  const { action, actor, target, from, to } = search;
  return {
    ...parseLogTableSearch(search),
    ...(typeof action === "string" && /^[a-z-]+\.[a-z-]+$/.test(action) && { action }),
    ...(isIdOf(actor, "usr") && { actor }),
    ...(isLogTarget(target) && { target }),
    ...(isDay(from) && { from }),
    ...(isDay(to) && { to }),
  };
}

/** Whether a text is the ID of something that an event of the instance log can be about. */
export function isLogTarget(text: unknown): text is string {
  return isIdOf(text, "usr", "ws");
}
