import { z } from "zod";
import { changeWebhook } from "../../domain/webhooks.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentWebhook, webhook } from "../../presenters/webhook.ts";
import { webhookParams } from "../../schemas.ts";
import { webhookChanges } from "../../webhook-fields.ts";

const body = z.strictObject(webhookChanges).meta({
  override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
    jsonSchema.minProperties = 1;
  },
});

export const updateWebhook = defineEndpoint({
  method: "PATCH",
  path: "/workspaces/:workspaceId/webhooks/:webhookId",
  operationId: "updateWebhook",
  summary: "Update a webhook",
  description:
    "Changes the fields that you send and keeps the others. With `If-Match`, the request is rejected if the webhook has changed since you read it.",
  access: { workspace: "webhooks:manage" },
  request: { params: webhookParams, body, ifMatch: true },
  response: {
    status: 200,
    description: "The webhook after the change.",
    schema: webhook,
    hasEtag: true,
  },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  handle: async (
    { params: { webhookId }, body: changes },
    { transact, access: { scope }, origin, ifMatch, services },
  ) => {
    const change = { ...changes, versions: ifMatch };
    const edit = { scope, origin };
    return presentWebhook(await transact((trx) => changeWebhook(trx, edit, webhookId, change, services)));
  },
});
