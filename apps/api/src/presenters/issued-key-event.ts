import type { AuditAction, Details } from "@latchkey/db/audit-actions";
import { encodeId } from "@latchkey/db/ids";
import type { IssuedKeyEvent } from "@latchkey/db/issued-key-events";
import type { UserKind } from "@latchkey/db/user-kind";
import { presentDetails } from "./audit-event.ts";

/**
 * A change to an issued key, for everyone who can see the key. Its IP address and request ID are only in the audit log, which
 * fewer people can read.
 */
interface ShownIssuedKeyEvent {
  readonly id: string;
  readonly occurredAt: string;
  readonly action: AuditAction;
  readonly actor: {
    readonly kind: IssuedKeyEvent["actorKind"];
    readonly name: string | null;
    readonly userKind: UserKind | null;
  };
  readonly before: Details | null;
  readonly after: Details | null;
}

export function presentIssuedKeyEvent(event: IssuedKeyEvent): ShownIssuedKeyEvent {
  return {
    id: encodeId("auditEvent", event.id),
    occurredAt: event.occurredAt.toISOString(),
    action: event.action,
    actor: { kind: event.actorKind, name: event.actorName, userKind: event.actorUserKind },
    before: event.before && presentDetails(event.before),
    after: event.after && presentDetails(event.after),
  };
}
