import { testWebhook as test } from "../../domain/webhook-messages.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { delivery, presentDelivery } from "../../presenters/webhook.ts";
import { webhookParams } from "../../schemas.ts";

export const testWebhook = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/webhooks/:webhookId/test",
  operationId: "testWebhook",
  summary: "Send a test message",
  description: "Sends a message of the type `webhook.test`. Its outcome is in the log of deliveries.",
  access: { workspace: "webhooks:manage" },
  request: { params: webhookParams },
  response: { status: 201, description: "The delivery of the test message.", schema: delivery },
  errors: ["NOT_FOUND", "CONFLICT"],
  handle: async ({ params: { webhookId } }, { transact, access: { scope }, origin }) =>
    presentDelivery(await transact((trx) => test(trx, { scope, origin }, webhookId))),
});
