import { redeliver } from "../../domain/webhook-messages.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { delivery, presentDelivery } from "../../presenters/webhook.ts";
import { deliveryParams } from "../../schemas.ts";

export const redeliverWebhookDelivery = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/webhooks/:webhookId/deliveries/:deliveryId/redeliver",
  operationId: "redeliverWebhookDelivery",
  summary: "Send a message again",
  description:
    "Sends the message of a delivery again, whatever its status. The `webhook-id` header stays the same, so that the receiver can recognize a message that it has already processed.",
  access: { workspace: "webhooks:manage" },
  request: { params: deliveryParams },
  response: { status: 200, description: "The delivery, which is sent again.", schema: delivery },
  errors: ["NOT_FOUND", "CONFLICT"],
  handle: async ({ params: { webhookId, deliveryId: id } }, { transact, access: { scope }, origin }) =>
    presentDelivery(await transact((trx) => redeliver(trx, { scope, origin }, { webhookId, id }))),
});
