import { type AuditAction, actionTitles } from "../../server/action-titles.ts";
import type { AuditLogSearch } from "./audit-log-search.ts";

/** The filter in a call of the API. The last day is included. */
export function toFilter({ action, actor, target, from, to }: AuditLogSearch) {
  return {
    ...(isAction(action) && { action }),
    ...(actor && { actorId: actor }),
    ...(target && { targetId: target }),
    ...(from && { from: startOfDay(from).toISOString() }),
    ...(to && { to: startOfDay(to, 1).toISOString() }),
  };
}

/** The beginning of a day in the reader's time zone, or of a later one. */
function startOfDay(day: string, laterDays = 0): Date {
  const [year = 0, month = 0, date = 0] = day.split("-").map(Number);
  return new Date(year, month - 1, date + laterDays);
}

export function isAction(text: unknown): text is AuditAction {
  return typeof text === "string" && Object.hasOwn(actionTitles, text);
}
