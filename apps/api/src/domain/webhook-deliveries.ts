import type { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { appendAudit } from "@latchkey/db/audit-events";
import { type AuditEvent, findAuditEvent } from "@latchkey/db/audit-log";
import type { WebhookId } from "@latchkey/db/ids";
import type { JobPayloads } from "@latchkey/db/job";
import type { Db } from "@latchkey/db/schema";
import type { AttemptOutcome, DeliveryStatus } from "@latchkey/db/schema/webhooks";
import {
  type Delivery,
  deleteOldDeliveries,
  failDelivery,
  findDelivery,
  isLastAttempt,
  moveToSlowDeliveries,
  recordAttempt,
} from "@latchkey/db/webhook-deliveries";
import { recordOutcome, recordSlowAttempt } from "@latchkey/db/webhook-outcomes";
import { findWebhook, readWebhookSecrets } from "@latchkey/db/webhooks";
import { lockWorkspaceAgainstDeletion } from "@latchkey/db/workspace-locks";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { findWorkspace } from "@latchkey/db/workspaces";
import { openWebhookSecret } from "./webhook-secrets.ts";

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

/** A message that was sent once. */
export interface SentMessage {
  readonly attempt: AttemptOutcome;
  /** Where it was sent. */
  readonly url: string;
  /** When the attempt began, by `performance.now()`. */
  readonly startedAt: number;
}

/** An attempt that takes longer is slow, in milliseconds. One that times out is slow too. */
export const slowAttemptMs = 1_000;

/**
 * Returns undefined if there is nothing to send: the delivery has ended, its webhook was disabled or deleted, or its workspace
 * is disabled.
 * @param options.acceptsSlow whether messages of slow webhooks may be sent now; otherwise, moves their jobs to the worker
 *   that sends them, and returns undefined.
 */
export async function prepareDelivery(
  db: Db,
  { workspaceId, deliveryId: id }: Job,
  { secrets, acceptsSlow }: { readonly secrets: SealedSecrets; readonly acceptsSlow: boolean },
): Promise<DueDelivery | undefined> {
  const scope = openAsOperator(workspaceId);
  return await inWorkspace(db, scope, async (trx) => {
    await deleteOldDeliveries(trx, scope);
    const delivery = await findDelivery(trx, scope, id);
    const webhook = delivery && (await findWebhook(trx, scope, delivery.webhookId));
    if (!webhook || delivery.status !== "pending") return undefined;
    const event = delivery.eventId ? await findAuditEvent(trx, scope, delivery.eventId) : undefined;
    const signingSecrets = openSecrets(await readWebhookSecrets(trx, scope, webhook.id), webhook.id, secrets);
    const workspace = await findWorkspace(trx, scope);
    // The event may have been purged since.
    if (workspace?.disabledAt || webhook.disabledAt || (delivery.eventId && !event) || !signingSecrets) {
      await failDelivery(trx, scope, id);
      return undefined;
    }
    if (webhook.isSlow && !acceptsSlow) {
      await moveToSlowDeliveries(trx, scope, delivery);
      return undefined;
    }
    return { delivery, event, url: webhook.url, secrets: signingSecrets };
  });
}

/**
 * Returns undefined if the current secret was sealed with another `AUTH_SECRET`: retries can't succeed until it is rotated.
 * The rotation makes it the old secret, which then signs nothing. Otherwise, messages would fail until its overlap ends.
 */
function openSecrets(
  [current, ...former]: readonly Buffer[],
  id: WebhookId,
  secrets: SealedSecrets,
): readonly string[] | undefined {
  const opened = current && openWebhookSecret(secrets, id, current);
  if (opened === undefined) return undefined;
  return [opened, ...former.flatMap((secret) => openWebhookSecret(secrets, id, secret) ?? [])];
}

/**
 * Records an attempt in the delivery and, if the webhook still has the same URL, in the webhook. If this disables the webhook, adds an
 * audit event, which other webhooks of the workspace get.
 * @returns the status of the delivery; undefined if it was deleted or has ended.
 */
export async function recordDelivery(
  db: Db,
  { workspaceId, deliveryId: id }: Job,
  { attempt, url, startedAt }: SentMessage,
): Promise<DeliveryStatus | undefined> {
  const isSuccess = attempt.status !== null && attempt.status >= 200 && attempt.status < 300;
  // 410 tells senders to stop.
  const isGone = attempt.status === 410;
  const scope = openAsOperator(workspaceId);
  return await inWorkspace(db, scope, async (trx) => {
    // Locks the workspace before the webhook, in the order in which a deletion of the workspace locks them. In the
    // other order, the two transactions could deadlock, because the audit event below needs the workspace.
    if (!(await lockWorkspaceAgainstDeletion(trx, scope))) return undefined;
    const delivery = await findDelivery(trx, scope, id);
    if (!delivery) return undefined;
    const webhook = { id: delivery.webhookId, url };
    if (attempt.durationMs > slowAttemptMs) await recordSlowAttempt(trx, scope, webhook);
    const failure = isGone ? "gone" : isLastAttempt(delivery) ? "failed" : "retried";
    const isDisabled = await recordOutcome(trx, scope, webhook, isSuccess ? "succeeded" : failure);
    if (isDisabled) await recordDisabling(trx, scope, webhook.id);
    // If a former URL responded with 410, the next attempt is sent to the new one.
    return await recordAttempt(trx, scope, id, {
      attempt,
      startedAt,
      isSuccess,
      isFinal: isGone && isDisabled,
    });
  });
}

/** Nobody made a request for this change, so the event has neither an IP address nor a request ID. */
const systemOrigin = { actor: { kind: "system" }, address: null, requestId: null } as const;

async function recordDisabling(trx: WorkspaceTrx, scope: WorkspaceScope, id: WebhookId): Promise<void> {
  const webhook = await findWebhook(trx, scope, id);
  if (!webhook) return;
  await appendAudit(trx, scope, systemOrigin, {
    action: "webhook.disabled",
    targetId: id,
    after: { reason: webhook.disabledReason, host: new URL(webhook.url).host },
  });
}
