import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getWebhook as get } from "../../domain/webhooks.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentWebhook, webhook } from "../../presenters/webhook.ts";
import { webhookParams } from "../../schemas.ts";

export const getWebhook = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/webhooks/:webhookId",
  operationId: "getWebhook",
  summary: "Get a webhook",
  description: "Returns a webhook. Pass its `ETag` as `If-Match` when you update it.",
  access: { workspace: "webhooks:manage" },
  request: { params: webhookParams },
  response: {
    status: 200,
    description: "The webhook, without its secret.",
    schema: webhook,
    hasEtag: true,
  },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { webhookId } }, { read, access: { scope } }) =>
    presentWebhook(await read((db) => inWorkspace(db, scope, (trx) => get(trx, scope, webhookId)))),
});
