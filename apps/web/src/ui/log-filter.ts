import { isDay, startOfDay } from "./days.ts";
import { isIdOf } from "./is-id-of.ts";

/** The filter of the events of a log in the URL. */
export interface EventFilter {
  /**
   * An action name. A well-formed name that isn't in the list of actions is ignored, because the router is loaded
   * without the list.
   */
  readonly action?: string;
  /** The first and the last day, such as `2026-03-01`, in the reader's time zone. */
  readonly from?: string;
  readonly to?: string;
}

/** The filter of a log in the URL, with the people and things that its events are about. */
export interface LogFilter extends EventFilter {
  /** The ID of the user who made the changes. */
  readonly actor?: string;
  /** The ID of what was changed. */
  readonly target?: string;
}

/** Changes some filters; undefined removes one. */
export type LogFilterChange = { readonly [Name in keyof LogFilter]?: string | undefined };

/** Reads the filter in the search part of a URL, and drops what isn't valid. */
export function parseLogFilter(
  search: Record<string, unknown>,
  isTarget: (text: unknown) => text is string,
): LogFilter {
  const { actor, target } = search;
  return {
    ...parseEventFilter(search),
    ...(isIdOf(actor, "usr") && { actor }),
    ...(isTarget(target) && { target }),
  };
}

/** Reads the filter of a log whose events are all about the same user. */
export function parseEventFilter(search: Record<string, unknown>): EventFilter {
  const { action, from, to } = search;
  return {
    ...(typeof action === "string" && /^[a-z-]+\.[a-z-]+$/.test(action) && { action }),
    ...(isDay(from) && { from }),
    ...(isDay(to) && { to }),
  };
}

/** The period in a call of the API. The last day is included. The API has no times after the year 9999. */
export function toPeriod({ from, to }: EventFilter) {
  const end = to && startOfDay(to, 1);
  return {
    ...(from && { from: startOfDay(from).toISOString() }),
    ...(end && end.getUTCFullYear() <= 9_999 && { to: end.toISOString() }),
  };
}

/** The change of the URL that removes all filters. */
export const withoutFilter = {
  action: undefined,
  actor: undefined,
  target: undefined,
  from: undefined,
  to: undefined,
} as const satisfies Record<keyof LogFilter, undefined>;

/** Whether the URL has a filter, even one that filters nothing. */
export function isLogFiltered(search: LogFilter): boolean {
  return Object.keys(withoutFilter).some((name) => Object.hasOwn(search, name));
}
