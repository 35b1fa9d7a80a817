import { decodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { digestWebhookSecret, reissueWebhookSecret } from "../../domain/webhook-secrets.ts";
import { createWebhook as create } from "../../domain/webhooks.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentWebhookWithSecret, webhookWithSecret } from "../../presenters/webhook.ts";
import { workspaceParams } from "../../schemas.ts";
import { newWebhookFields } from "../../webhook-fields.ts";

export const createWebhook = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/webhooks",
  operationId: "createWebhook",
  summary: "Create a webhook",
  description:
    "Adds a URL to which the events of the audit log are sent. Verify each message with the secret. If the response is lost, send the request again with the same `Idempotency-Key`: the response has a new secret, and the former one no longer signs messages.",
  access: { workspace: "webhooks:manage" },
  request: { params: workspaceParams, body: z.strictObject(newWebhookFields) },
  response: {
    status: 201,
    description: "The new webhook and its secret, which is returned only once.",
    schema: webhookWithSecret,
    hasEtag: true,
  },
  secret: {
    member: "secret",
    digest: digestWebhookSecret,
    reissue: async (_request, { access: { scope }, origin, services }, { trx, hash, answer }) => {
      const id = decodeId("webhook", String(answer.id));
      const reissued = await reissueWebhookSecret(trx, { scope, origin }, { id, hash }, services);
      return reissued && presentWebhookWithSecret(reissued);
    },
  },
  errors: ["UNPROCESSABLE_CONTENT"],
  handle: async ({ body }, { transact, access: { scope }, origin, services }) =>
    presentWebhookWithSecret(await transact((trx) => create(trx, { scope, origin }, body, services))),
});
