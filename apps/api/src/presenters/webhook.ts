import { auditActions } from "@latchkey/db/audit-actions";
import { encodeId } from "@latchkey/db/ids";
import type { Delivery } from "@latchkey/db/webhook-deliveries";
import type { Webhook } from "@latchkey/db/webhooks";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import type { WebhookWithSecret } from "../domain/webhook-secrets.ts";
import { secretStatus, shownId, shownText, shownUrl, timestamp, version } from "../schemas.ts";
import { auditAction } from "./audit-event.ts";

/** A webhook of a workspace. */
export const webhook = z
  .object({
    id: shownId("webhook"),
    url: shownUrl.meta({ example: "https://example.com/webhooks", maxLength: maxLength.webhookUrl }),
    description: shownText(maxLength.webhookDescription).meta({ example: "Our SIEM." }),
    actions: z
      .array(auditAction)
      .meta({ maxItems: Object.keys(auditActions).length })
      .nullable()
      .meta({
        description: "The actions whose audit events are sent; null for all, including future ones.",
        example: ["member.removed", "key.created"],
      }),
    isDisabled: z.boolean().meta({ description: "Whether the webhook is disabled.", example: false }),
    disabledReason: z.enum(["user", "failures", "gone"]).nullable().meta({
      description:
        "`user`: a user or the operator disabled it. `failures`: no attempt succeeded for three days. `gone`: the server responded with 410. Null while it is enabled.",
      example: null,
    }),
    disabledAt: timestamp.nullable().meta({ example: null }),
    failingSince: timestamp.nullable().meta({
      description:
        "The time of the first failed attempt since the last successful one or the last change of the URL; null if none has failed.",
      example: null,
    }),
    formerSecretExpiresAt: timestamp.nullable().meta({
      description: "When the overlap of the old secret ends; null if there is none.",
      example: null,
    }),
    createdAt: timestamp,
    version,
  })
  .meta({ id: "Webhook" });

/** A webhook whose secret was just created. */
export const webhookWithSecret = webhook
  .extend({
    secret: shownText(50).optional().meta({
      description:
        "The secret that signs the messages, by [Standard Webhooks](https://www.standardwebhooks.com). It is shown only in this response. Absent if `secretStatus` is `omitted`.",
      example: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDCD0v6IbsnU8=",
    }),
    secretStatus,
  })
  .meta({ id: "WebhookWithSecret" });

export function presentWebhook(shown: Webhook): z.input<typeof webhook> {
  return {
    id: encodeId("webhook", shown.id),
    url: shown.url,
    description: shown.description,
    actions: shown.actions && [...shown.actions],
    isDisabled: shown.disabledAt !== null,
    disabledReason: shown.disabledReason,
    disabledAt: shown.disabledAt?.toISOString() ?? null,
    failingSince: shown.failingSince?.toISOString() ?? null,
    formerSecretExpiresAt: shown.formerSecretExpiresAt?.toISOString() ?? null,
    createdAt: shown.createdAt.toISOString(),
    version: shown.version,
  };
}

export function presentWebhookWithSecret({ webhook: shown, secret }: WebhookWithSecret) {
  return { ...presentWebhook(shown), secret, secretStatus: "issued" as const };
}

const attempt = z
  .object({
    at: timestamp,
    status: z
      .int()
      .nullable()
      .meta({ description: "The HTTP status of the response; null if there was none." }),
    error: z
      .enum([
        "address_not_allowed",
        "connection_failed",
        "https_required",
        "name_not_found",
        "restored",
        "timeout",
        "tls_failed",
      ])
      .nullable()
      .meta({
        description:
          "Why there was no response; null if there was one. `name_not_found`: DNS returned no IP address, because the host name has none or the name server didn't respond. `address_not_allowed`: an IP address of the host is neither public nor allowed by the operator. `https_required`: a URL without TLS needs IP addresses that the operator has allowed. `connection_failed`: the connection failed, or ended without a response. `tls_failed`: the TLS handshake failed, for example because the certificate isn't valid. `timeout`: there was no response within ten seconds. `restored`: no request was made, because the instance was restored from a backup while the delivery was pending.",
        example: null,
      }),
    durationMs: z.int().min(0).meta({ description: "In milliseconds.", example: 84 }),
  })
  .meta({ id: "DeliveryAttempt" });

/** The delivery of an event to a webhook. */
export const delivery = z
  .object({
    id: shownId("delivery"),
    webhookId: shownId("webhook"),
    eventId: shownId("auditEvent").nullable().meta({ description: "Null for a test message." }),
    action: z
      .enum([...auditAction.options, "webhook.test"])
      .meta({ description: "The `type` of the message.", example: "member.removed" }),
    status: z.enum(["pending", "succeeded", "failed"]).meta({
      description: "`pending`: there will be another attempt. `failed`: there won't be one.",
      example: "succeeded",
    }),
    attempts: z.array(attempt).meta({ maxItems: 50, description: "The last 50 attempts, oldest first." }),
    nextAttemptAt: timestamp.nullable().meta({ example: null }),
    createdAt: timestamp,
  })
  .meta({ id: "WebhookDelivery" });

export function presentDelivery(shown: Delivery): z.input<typeof delivery> {
  return {
    id: encodeId("delivery", shown.id),
    webhookId: encodeId("webhook", shown.webhookId),
    eventId: shown.eventId && encodeId("auditEvent", shown.eventId),
    action: shown.action,
    status: shown.status,
    attempts: [...shown.attempts],
    nextAttemptAt: shown.nextAttemptAt?.toISOString() ?? null,
    createdAt: shown.createdAt.toISOString(),
  };
}
