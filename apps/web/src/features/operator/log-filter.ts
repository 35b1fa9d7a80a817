import { startOfDay } from "../../ui/days.ts";
import { isInstanceAction } from "./instance-action-titles.ts";
import type { LogFilter } from "./log-search.ts";

/** The filter in a call of the API. The last day is included. */
export function toLogFilter({ action, actor, target, from, to }: LogFilter) {
  return {
    ...(isInstanceAction(action) && { action }),
    ...(actor && { actorId: actor }),
    ...(target?.startsWith("usr_") && { targetUserId: target }),
    ...(target?.startsWith("ws_") && { targetWorkspaceId: target }),
    ...(from && { from: startOfDay(from).toISOString() }),
    ...(to && { to: startOfDay(to, 1).toISOString() }),
  };
}

/** The change of the URL that removes all filters. */
export const withoutLogFilter = {
  action: undefined,
  actor: undefined,
  target: undefined,
  from: undefined,
  to: undefined,
} as const satisfies Record<keyof LogFilter, undefined>;

/** Whether the URL has a filter, even one that filters nothing. */
export function isLogFiltered(search: LogFilter): boolean {
  return Object.keys(withoutLogFilter).some((name) => Object.hasOwn(search, name));
}
