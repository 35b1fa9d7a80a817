import { accountActions, type KeyAction, keyActions } from "@latchkey/db/audit-actions";
import { encodeId } from "@latchkey/db/ids";
import type { SecurityEvent } from "@latchkey/db/security-events";
import { z } from "zod";
import { parseDevice } from "../domain/devices.ts";

/** The actions in the security log of a user. */
export const securityAction = z.enum([
  ...accountActions,
  ...(Object.keys(keyActions) as KeyAction[]), // The table's keys.
]);

/** Events that anyone who knows the user's email address can cause. */
const unauthenticatedActions: ReadonlySet<string> = new Set<SecurityEvent["action"]>([
  "sign-in.failed",
  "second-factor.failed",
  "password.reset-link-emailed",
]);

/** An event of a user's own security log, for the web app. */
export function presentSecurityEvent(event: SecurityEvent) {
  return {
    id: encodeId("securityEvent", event.id),
    occurredAt: event.occurredAt.toISOString(),
    action: event.action,
    actor: {
      kind: actorKindOf(event),
      keyId: event.actorKeyId && encodeId("key", event.actorKeyId),
      isKeyDeleted: event.isActorKeyDeleted,
    },
    key: event.keyId && {
      id: encodeId("key", event.keyId),
      name: event.keyName,
    },
    before: event.before,
    after: event.after,
    address: event.address,
    device: event.userAgent === null ? null : parseDevice(event.userAgent),
    requestId: event.requestId,
  };
}

/** Changes by an operator are stored like changes by the command, which belong to no request. */
function actorKindOf({ action, actorKind, requestId }: SecurityEvent) {
  if (unauthenticatedActions.has(action)) return "unknown" as const;
  return actorKind === "command" && requestId !== null ? ("operator" as const) : actorKind;
}
