import { type Details, isOperatorActing } from "@latchkey/db/audit-actions";
import { type DeliveryId, encodeId, type WebhookId } from "@latchkey/db/ids";
import { appendInstanceEvent } from "@latchkey/db/instance-events";
import type { Position } from "@latchkey/db/page";
import type { Db, Trx } from "@latchkey/db/schema";
import type { DeliveryStatus } from "@latchkey/db/schema/webhooks";
import {
  addDelivery,
  type Delivery,
  findDelivery,
  listDeliveries,
  requestDelivery,
} from "@latchkey/db/webhook-deliveries";
import type { Webhook } from "@latchkey/db/webhooks";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import type { Edit } from "./enter-for-edit.ts";
import { enterWebhook } from "./enter-webhook.ts";
import { getWebhook } from "./webhooks.ts";

/** How many deliveries {@link listEveryDelivery} keeps in memory at a time. */
const deliveriesPerPage = 100;

/** Lists every delivery to a webhook of the last 30 days, newest first. @throws {AppError} NOT_FOUND */
export async function* listEveryDelivery(
  db: Db,
  scope: WorkspaceScope,
  filter: { readonly webhookId: WebhookId; readonly status?: DeliveryStatus | undefined },
): AsyncGenerator<Delivery> {
  const order = { sort: "createdAt", direction: "desc", limit: deliveriesPerPage, filter } as const;
  let after: Position | undefined;
  do {
    const deliveries = await inWorkspace(db, scope, async (trx) => {
      await getWebhook(trx, scope, filter.webhookId);
      return await listDeliveries(trx, scope, { ...order, after });
    });
    yield* deliveries;
    const last = deliveries.length === deliveriesPerPage ? deliveries.at(-1) : undefined;
    after = last && { value: last.position, id: last.id };
  } while (after);
}

/**
 * Sends a test message to a webhook.
 * @throws {AppError} NOT_FOUND, CONFLICT if it is disabled, FORBIDDEN.
 */
export async function testWebhook(trx: Trx, edit: Edit, id: WebhookId): Promise<Delivery> {
  const { scope } = edit;
  const { workspaceTrx, webhook } = await enterWebhook(trx, edit, id);
  requireEnabled(webhook);
  const delivery = { webhookId: id, eventId: null, action: "webhook.test" } as const;
  await recordSending(workspaceTrx, edit, { action: "webhook.tested", id });
  return await getDelivery(workspaceTrx, scope, {
    webhookId: id,
    id: await addDelivery(workspaceTrx, scope, delivery),
  });
}

/**
 * Sends a message again, whatever the outcome of its earlier attempts.
 * @throws {AppError} NOT_FOUND, CONFLICT if the webhook is disabled, FORBIDDEN.
 */
export async function redeliver(
  trx: Trx,
  edit: Edit,
  path: { readonly webhookId: WebhookId; readonly id: DeliveryId },
): Promise<Delivery> {
  const { scope } = edit;
  const { workspaceTrx, webhook } = await enterWebhook(trx, edit, path.webhookId);
  await getDelivery(workspaceTrx, scope, path);
  requireEnabled(webhook);
  await requestDelivery(workspaceTrx, scope, path);
  const after = { deliveryId: encodeId("delivery", path.id) };
  await recordSending(workspaceTrx, edit, { action: "webhook.redelivered", id: path.webhookId, after });
  return await getDelivery(workspaceTrx, scope, path);
}

/** Records a message that an operator sends. It changes nothing in the workspace, so the audit log doesn't have it. */
async function recordSending(
  trx: WorkspaceTrx,
  { scope, origin }: Edit,
  {
    action,
    id,
    after,
  }: {
    readonly action: "webhook.tested" | "webhook.redelivered";
    readonly id: WebhookId;
    readonly after?: Details;
  },
): Promise<void> {
  if (!isOperatorActing(origin.actor)) return;
  const { workspaceId } = scope;
  const details = { ...after, webhookId: encodeId("webhook", id) };
  await appendInstanceEvent(trx, origin, { action, workspaceId, after: details });
}

async function getDelivery(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { webhookId, id }: { readonly webhookId: WebhookId; readonly id: DeliveryId },
): Promise<Delivery> {
  const delivery = await findDelivery(trx, scope, id);
  if (delivery?.webhookId === webhookId) return delivery;
  throw new AppError("NOT_FOUND", { message: "There is no such delivery." });
}

/** @throws {AppError} CONFLICT */
function requireEnabled({ disabledAt }: Webhook): void {
  if (!disabledAt) return;
  throw new AppError("CONFLICT", { message: "This webhook is disabled. Enable it first." });
}
