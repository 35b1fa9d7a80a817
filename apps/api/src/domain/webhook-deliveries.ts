import type { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { type AuditEvent, findAuditEvent } from "@latchkey/db/audit-events";
import type { WebhookId } from "@latchkey/db/ids";
import type { JobPayloads } from "@latchkey/db/job";
import type { Db, DeliveryAttempt, DeliveryStatus } from "@latchkey/db/schema";
import {
  type Delivery,
  deleteOldDeliveries,
  findDelivery,
  giveUpDelivery,
  recordAttempt,
} from "@latchkey/db/webhook-deliveries";
import { findWebhook, readWebhookSecrets, recordOutcome } from "@latchkey/db/webhooks";
import { inWorkspace } from "@latchkey/db/workspace-scope";

type Job = JobPayloads["deliver-to-webhook"];

/** A delivery that is due, with what its message is made of. */
export interface DueDelivery {
  readonly delivery: Delivery;
  /** Undefined for a test message. */
  readonly event: AuditEvent | undefined;
  readonly url: string;
  /** The secrets that sign the message. */
  readonly secrets: readonly string[];
}

/** Returns undefined if there is nothing to send: the delivery has ended, or its webhook was disabled or deleted. */
export async function prepareDelivery(
  db: Db,
  { workspaceId, deliveryId: id }: Job,
  secrets: SealedSecrets,
): Promise<DueDelivery | undefined> {
  const scope = openAsOperator(workspaceId);
  return await inWorkspace(db, scope, async (trx) => {
    await deleteOldDeliveries(trx, scope);
    const delivery = await findDelivery(trx, scope, id);
    const webhook = delivery && (await findWebhook(trx, scope, delivery.webhookId));
    if (!webhook || delivery.status !== "pending") return undefined;
    const event = delivery.eventId ? await findAuditEvent(trx, scope, delivery.eventId) : undefined;
    const signingSecrets = openSecrets(await readWebhookSecrets(trx, scope, webhook.id), webhook.id, secrets);
    // The event may have been purged since.
    if (webhook.disabledAt || (delivery.eventId && !event) || !signingSecrets) {
      await giveUpDelivery(trx, scope, id);
      return undefined;
    }
    return { delivery, event, url: webhook.url, secrets: signingSecrets };
  });
}

/** Returns undefined if they were sealed with another `AUTH_SECRET`: retries can't succeed until the secret is rotated. */
function openSecrets(
  sealed: readonly Buffer[],
  id: WebhookId,
  secrets: SealedSecrets,
): readonly string[] | undefined {
  try {
    return sealed.map((secret) => secrets.open(id, secret));
  } catch {
    return undefined;
  }
}

/**
 * Records an attempt in the delivery and in its webhook.
 * @returns the status of the delivery; undefined if it was deleted or has ended.
 */
export async function recordDelivery(
  db: Db,
  { workspaceId, deliveryId: id }: Job,
  attempt: DeliveryAttempt,
): Promise<DeliveryStatus | undefined> {
  const isSuccess = attempt.status !== null && attempt.status >= 200 && attempt.status < 300;
  // 410 tells senders to stop.
  const isGone = attempt.status === 410;
  const scope = openAsOperator(workspaceId);
  return await inWorkspace(db, scope, async (trx) => {
    const delivery = await findDelivery(trx, scope, id);
    if (!delivery) return undefined;
    const outcome = isSuccess ? "succeeded" : isGone ? "gone" : "failed";
    await recordOutcome(trx, scope, delivery.webhookId, outcome);
    return await recordAttempt(trx, scope, id, { attempt, isSuccess, isFinal: isGone });
  });
}
