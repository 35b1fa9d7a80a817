import { type LogFilter, toPeriod } from "../../ui/log-filter.ts";
import { isInstanceAction } from "./instance-action-titles.ts";

/** The filter in a call of the API. The last day is included. */
export function toLogFilter({ action, actor, target, ...period }: LogFilter) {
  return {
    ...(isInstanceAction(action) && { action }),
    ...(actor && { actorId: actor }),
    ...(target?.startsWith("usr_") && { targetUserId: target }),
    ...(target?.startsWith("ws_") && { targetWorkspaceId: target }),
    ...toPeriod(period),
  };
}
