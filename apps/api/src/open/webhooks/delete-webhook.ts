import { deleteWebhook as remove } from "../../domain/webhooks.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { webhookParams } from "../../schemas.ts";

export const deleteWebhook = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId/webhooks/:webhookId",
  operationId: "deleteWebhook",
  summary: "Delete a webhook",
  description:
    "Deletes the webhook and the log of its deliveries. With `If-Match`, the request is rejected if the webhook has changed since you read it.",
  access: { workspace: "webhooks:manage" },
  request: { params: webhookParams, ifMatch: true },
  response: { status: 204 },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  handle: async ({ params: { webhookId } }, { transact, access: { scope }, origin, ifMatch }) => {
    await transact((trx) => remove(trx, { scope, origin }, webhookId, ifMatch));
    return undefined;
  },
});
