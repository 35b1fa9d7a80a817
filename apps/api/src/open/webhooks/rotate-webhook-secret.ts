import { z } from "zod";
import {
  digestWebhookSecret,
  reissueWebhookSecret,
  rotateWebhookSecret as rotate,
} from "../../domain/webhook-secrets.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { overlapSeconds } from "../../key-fields.ts";
import { presentWebhookWithSecret, webhookWithSecret } from "../../presenters/webhook.ts";
import { webhookParams } from "../../schemas.ts";

export const rotateWebhookSecret = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/webhooks/:webhookId/rotate-secret",
  operationId: "rotateWebhookSecret",
  summary: "Rotate the secret of a webhook",
  description:
    "Creates a new secret. During the overlap, messages are signed with both secrets, so that you can replace the old one without losing messages. A webhook has at most one old secret: another rotation during the overlap ends the overlap of the older one immediately. If the response is lost, send the request again with the same `Idempotency-Key`: another secret replaces the lost one immediately. Don't send it again after you have installed the secret, because messages are then no longer signed with it.",
  access: { workspace: "webhooks:manage" },
  request: {
    params: webhookParams,
    ifMatch: true,
    body: z.strictObject({
      overlapSeconds: overlapSeconds.default(86_400).meta({
        description:
          "How long messages are also signed with the old secret, in seconds, from 0 to 2592000 (30 days).",
        example: 86_400,
      }),
    }),
  },
  response: {
    status: 200,
    description: "The webhook and its new secret, which is returned only once.",
    schema: webhookWithSecret,
    hasEtag: true,
  },
  secret: {
    member: "secret",
    digest: digestWebhookSecret,
    reissue: async (
      { params: { webhookId: id } },
      { access: { scope }, origin, services },
      { trx, hash },
    ) => {
      const reissued = await reissueWebhookSecret(trx, { scope, origin }, { id, hash }, services);
      return reissued && presentWebhookWithSecret(reissued);
    },
  },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  handle: async (
    { params: { webhookId }, body: { overlapSeconds } },
    { transact, access: { scope }, origin, ifMatch, services },
  ) => {
    const rotation = { overlapSeconds, versions: ifMatch };
    const edit = { scope, origin };
    return presentWebhookWithSecret(
      await transact((trx) => rotate(trx, edit, webhookId, rotation, services)),
    );
  },
});
