import { type AuditAction, actionTitles } from "../../server/action-titles.ts";
import { startOfDay } from "../../ui/days.ts";
import type { AuditLogFilter } from "./audit-log-search.ts";

/** The filter in a call of the API. The last day is included. */
export function toFilter({ action, actor, target, from, to }: AuditLogFilter) {
  return {
    ...(isAction(action) && { action }),
    ...(actor && { actorId: actor }),
    ...(target && { targetId: target }),
    ...(from && { from: startOfDay(from).toISOString() }),
    ...(to && { to: startOfDay(to, 1).toISOString() }),
  };
}

/** Whether the URL has a filter, even one that filters nothing. */
export function isFiltered(search: AuditLogFilter): boolean {
  return Object.keys(withoutFilter).some((name) => Object.hasOwn(search, name));
}

/** The change of the URL that removes all filters. */
export const withoutFilter = {
  action: undefined,
  actor: undefined,
  target: undefined,
  from: undefined,
  to: undefined,
} as const satisfies Record<keyof AuditLogFilter, undefined>;

export function isAction(text: unknown): text is AuditAction {
  return typeof text === "string" && Object.hasOwn(actionTitles, text);
}
