import { listDeliveries } from "@latchkey/db/webhook-deliveries";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getWebhook } from "../../domain/webhooks.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, toPage } from "../../lists.ts";
import { delivery, presentDelivery } from "../../presenters/webhook.ts";
import { webhookParams } from "../../schemas.ts";

const query = listQuery(["createdAt"]).extend({
  status: delivery.shape.status.optional().meta({ description: "Only deliveries with this status." }),
});

export const listWebhookDeliveries = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/webhooks/:webhookId/deliveries",
  operationId: "listWebhookDeliveries",
  summary: "List deliveries",
  description:
    "Lists the deliveries to a webhook, oldest first. A failed attempt is retried with exponential backoff for about 28 hours. Deliveries are kept for 30 days.",
  access: { workspace: "webhooks:manage" },
  request: { params: webhookParams, query },
  response: { status: 200, description: "A page of deliveries, oldest first.", schema: pageOf(delivery) },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { webhookId }, query }, { read, access: { scope } }) => {
    const page = { ...readPage(query), filter: { webhookId, status: query.status } };
    const rows = await read((db) =>
      inWorkspace(db, scope, async (trx) => {
        await getWebhook(trx, scope, webhookId);
        return await listDeliveries(trx, scope, page);
      }),
    );
    return toPage(rows, query, { present: presentDelivery, idOf: ({ id }) => id });
  },
});
