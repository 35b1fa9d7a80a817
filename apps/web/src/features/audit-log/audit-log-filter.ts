import { type AuditAction, actionTitles } from "../../server/action-titles.ts";
import { type LogFilter, toPeriod } from "../../ui/log-filter.ts";

/** The filter in a call of the API. The last day is included. */
export function toFilter({ action, actor, target, ...period }: LogFilter) {
  return {
    ...(isAction(action) && { action }),
    ...(actor && { actorId: actor }),
    ...(target && { targetId: target }),
    ...toPeriod(period),
  };
}

function isAction(text: unknown): text is AuditAction {
  return typeof text === "string" && Object.hasOwn(actionTitles, text);
}
