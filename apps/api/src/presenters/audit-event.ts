import { type AuditAction, auditActions, type Details } from "@latchkey/db/audit-actions";
import type { AuditEvent } from "@latchkey/db/audit-log";
import {
  type ConsumerId,
  encodeId,
  type InvitationId,
  type IssuedKeyId,
  type KeyId,
  type KeyspaceId,
  type UserId,
  type WebhookId,
  type WorkspaceId,
} from "@latchkey/db/ids";
import { shorten } from "@latchkey/errors";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import {
  shownAddress,
  shownId,
  shownIdentifier,
  shownPersonName,
  shownText,
  shownUserKind,
  timestamp,
} from "../schemas.ts";

/** The actions in a workspace's audit log. */
export const auditAction = z.enum(Object.keys(auditActions) as [AuditAction, ...AuditAction[]]); // The keys of the table.

const details = z
  .record(shownIdentifier, z.union([shownText(maxLength.auditValue), z.number(), z.boolean(), z.null()]))
  .nullable();

/** Describes the values of one side of a change, for people who have only the OpenAPI document. */
const changedValues = (side: "before" | "after") =>
  `The changed values ${side} the change, by name; null if there are none. A list is one string, separated by commas, and ends with the number of omitted IP ranges if there are more than 10; a rate limit is \`<quota>/<seconds>s\`. For a key, \`workspaces\` (\`all\` or \`selected\`) and \`canReachWorkspace\` say what it can reach, without naming other workspaces. More names may be added.`;

/** A change in a workspace. */
export const auditEvent = z
  .object({
    id: shownId("auditEvent"),
    occurredAt: timestamp,
    action: auditAction.meta({ example: "member.role-changed" }),
    actor: z.object({
      kind: z.enum(["session", "key", "command", "system"]).meta({
        description:
          "The web app, an API key, the `latchkey` command, or the system: Latchkey itself, which disables a webhook that fails.",
        example: "key",
      }),
      userId: shownId("user").nullable(),
      name: shownPersonName
        .nullable()
        .meta({ description: "The current name of the user.", example: "Ada Lovelace" }),
      userKind: shownUserKind.nullable().meta({ description: "Null for the command and the system." }),
      keyId: shownId("key").nullable(),
    }),
    target: z.object({
      kind: z
        .enum(["workspace", "member", "key", "invitation", "webhook", "keyspace", "issued-key", "consumer"])
        .meta({ example: "member" }),
      id: shownId(
        "workspace",
        "key",
        "invitation",
        "webhook",
        "keyspace",
        "issuedKey",
        "consumer",
        "user",
      ).meta({
        description:
          "The ID of the workspace, of the member's user, of the API key, of the invitation, of the webhook, of the keyspace, of the issued key or of the consumer.",
      }),
      name: shownText(Math.max(maxLength.personName, maxLength.keyName)).nullable().meta({
        description:
          "The current name of the user or the API key. Null for a workspace, an invitation, a webhook, a keyspace, an issued key, a consumer and a purged key.",
        example: "Grace Hopper",
      }),
      userKind: shownUserKind.nullable().meta({ description: "Null if the target is not a user." }),
      owner: z
        .object({
          id: shownId("user"),
          name: shownPersonName
            .nullable()
            .meta({ description: "The current name of the user.", example: "Ada Lovelace" }),
          kind: shownUserKind.nullable().meta({ description: "Null for a deleted user." }),
        })
        .nullable()
        .meta({
          description:
            "The owner of the API key. Null if the target is not an API key, and for a purged key in an event of an earlier version.",
        }),
    }),
    before: details.meta({
      description: changedValues("before"),
      example: { role: "viewer" },
    }),
    after: details.meta({ description: changedValues("after"), example: { role: "member" } }),
    address: shownAddress.nullable().meta({
      description:
        "The client's IP address. Null for changes by an operator of the instance, the command or Latchkey itself.",
      example: "192.0.2.7",
    }),
    requestId: shownText(maxLength.requestId).nullable().meta({
      description: "The `X-Request-Id` of the request.",
      example: "0f8fad5b-d9cb-469f-a165-70867728950e",
    }),
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
      userKind: event.actorUserKind,
      keyId: event.actorKeyId && encodeId("key", event.actorKeyId),
    },
    target: {
      kind: event.targetKind,
      id: encodeTarget(event),
      name: event.targetName,
      userKind: event.targetUserKind,
      owner: event.targetOwnerId && {
        id: encodeId("user", event.targetOwnerId),
        name: event.targetOwnerName,
        kind: event.targetOwnerKind,
      },
    },
    before: event.before && presentDetails(omitFormerEmail(event.action, event.before)),
    after: event.after && presentDetails(event.after),
    address: event.address,
    requestId: event.requestId,
  };
}

/** Omits the email address of a former member, which events of earlier versions have. */
function omitFormerEmail(action: AuditAction, before: Details): Details {
  if (action !== "member.removed") return before;
  return Object.fromEntries(Object.entries(before).filter(([name]) => name !== "email"));
}

/** The values of a change, each shortened to the length that responses allow. */
export function presentDetails(details: Details): Details {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name,
      typeof value === "string" ? shorten(value, maxLength.auditValue) : value,
    ]),
  );
}

function encodeTarget({ targetKind, targetId }: AuditEvent): string {
  switch (targetKind) {
    case "workspace":
      return encodeId("workspace", targetId as WorkspaceId); // The target's kind determines the type.
    case "member":
      return encodeId("user", targetId as UserId); // The target's kind determines the type.
    case "key":
      return encodeId("key", targetId as KeyId); // The target's kind determines the type.
    case "invitation":
      return encodeId("invitation", targetId as InvitationId); // The target's kind determines the type.
    case "webhook":
      return encodeId("webhook", targetId as WebhookId); // The target's kind determines the type.
    case "keyspace":
      return encodeId("keyspace", targetId as KeyspaceId); // The target's kind determines the type.
    case "issued-key":
      return encodeId("issuedKey", targetId as IssuedKeyId); // The target's kind determines the type.
    case "consumer":
      return encodeId("consumer", targetId as ConsumerId); // The target's kind determines the type.
    default:
      return targetKind satisfies never;
  }
}
