import { type AuditAction, auditActions } from "@latchkey/db/audit-actions";
import type { AuditEvent } from "@latchkey/db/audit-events";
import { encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { z } from "zod";
import { timestamp } from "../schemas.ts";

/** What can happen in a workspace. */
export const auditAction = z.enum(Object.keys(auditActions) as [AuditAction, ...AuditAction[]]); // The table's keys.

const details = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).nullable();

/** A change in a workspace. */
export const auditEvent = z
  .object({
    id: z.string().meta({ example: "evt_01h455vb4pex5vsknk084sn02q" }),
    occurredAt: timestamp,
    action: auditAction,
    actor: z.object({
      kind: z
        .enum(["session", "key", "command"])
        .meta({ description: "The web app, an API key, or the operator's command." }),
      userId: z.string().nullable(),
      name: z.string().nullable().meta({ description: "What that user is called now." }),
      keyId: z.string().nullable(),
    }),
    target: z.object({ kind: z.enum(["workspace", "member"]), id: z.string() }),
    before: details.meta({ description: "What changed, as it was." }),
    after: details.meta({ description: "What changed, as it became." }),
    address: z.string().nullable().meta({ description: "The client's IP address.", example: "192.0.2.7" }),
    requestId: z.string().nullable().meta({ description: "The `X-Request-Id` of the request." }),
  })
  .meta({ id: "AuditEvent" });

export function presentAuditEvent(event: AuditEvent): z.input<typeof auditEvent> {
  return {
    id: encodeId("auditEvent", event.id),
    occurredAt: event.occurredAt.toISOString(),
    action: event.action,
    actor: {
      kind: event.actorKind,
      userId: event.actorUserId && encodeId("user", event.actorUserId),
      name: event.actorName,
      keyId: event.actorKeyId && encodeId("key", event.actorKeyId),
    },
    target: { kind: event.targetKind, id: encodeTarget(event) },
    before: event.before,
    after: event.after,
    address: event.address,
    requestId: event.requestId,
  };
}

function encodeTarget({ targetKind, targetId }: AuditEvent): string {
  switch (targetKind) {
    case "workspace":
      return encodeId("workspace", targetId as WorkspaceId); // Its kind says so.
    case "member":
      return encodeId("user", targetId as UserId); // Its kind says so.
    default:
      return targetKind satisfies never;
  }
}
