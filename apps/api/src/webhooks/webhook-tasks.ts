import type { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import { encodeId, type WorkspaceId } from "@latchkey/db/ids";
import type { JobPayloads, JobTasks } from "@latchkey/db/job";
import type { Db } from "@latchkey/db/schema";
import { type DueDelivery, prepareDelivery, recordDelivery } from "../domain/webhook-deliveries.ts";
import { presentAuditEvent } from "../presenters/audit-event.ts";
import type { SendMessage, WebhookMessage } from "./message-sender.ts";

interface WebhookTasksOptions {
  readonly db: Db;
  readonly secrets: SealedSecrets;
  readonly send: SendMessage;
}

/** A message was not delivered; its job is tried again later. */
export class DeliveryFailedError extends Error {
  override readonly name = "DeliveryFailedError";
}

/** The jobs that send events to webhooks. */
export function createWebhookTasks({
  db,
  secrets,
  send,
}: WebhookTasksOptions): Pick<JobTasks, "deliver-to-webhook" | "deliver-to-slow-webhook"> {
  const deliver = async (job: JobPayloads["deliver-to-webhook"], acceptsSlow: boolean): Promise<void> => {
    const due = await prepareDelivery(db, job, { secrets, acceptsSlow });
    if (!due) return;
    // Outside of a transaction, because a receiver may take ten seconds.
    const startedAt = performance.now();
    const attempt = await send(composeMessage(due, job.workspaceId));
    const status = await recordDelivery(db, job, { attempt, url: due.url, startedAt });
    if (status === "pending") throw new DeliveryFailedError("The message was not delivered.");
  };
  return {
    "deliver-to-webhook": (job) => deliver(job, false),
    "deliver-to-slow-webhook": (job) => deliver(job, true),
  };
}

function composeMessage(
  { delivery, event, url, secrets }: DueDelivery,
  workspaceId: WorkspaceId,
): WebhookMessage {
  return {
    url,
    secrets,
    id: event ? encodeId("auditEvent", event.id) : encodeId("delivery", delivery.id),
    body: JSON.stringify({
      type: delivery.action,
      timestamp: (event?.occurredAt ?? delivery.createdAt).toISOString(),
      data: { workspaceId: encodeId("workspace", workspaceId), ...(event && presentAuditEvent(event)) },
    }),
  };
}
