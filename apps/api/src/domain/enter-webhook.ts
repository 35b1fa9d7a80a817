import type { WebhookId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import { lockWebhook, type Webhook } from "@latchkey/db/webhooks";
import type { WorkspaceTrx } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import type { Edit } from "./enter-for-edit.ts";
import { enterToManage } from "./enter-to-manage.ts";

/**
 * Enters a workspace to change a webhook or to send a message to it, and locks the webhook.
 * @throws {AppError} NOT_FOUND, FORBIDDEN
 */
export async function enterWebhook(
  trx: Trx,
  edit: Edit,
  id: WebhookId,
): Promise<{ readonly workspaceTrx: WorkspaceTrx; readonly webhook: Webhook }> {
  const workspaceTrx = await enterToManage(trx, edit, "webhooks:manage");
  const webhook = (await lockWebhook(workspaceTrx, edit.scope, id)) ?? webhookNotFound();
  return { workspaceTrx, webhook };
}

/** @throws {AppError} NOT_FOUND */
export function webhookNotFound(): never {
  throw new AppError("NOT_FOUND", { message: "There is no such webhook." });
}
