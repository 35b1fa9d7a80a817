import { decodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { createKey } from "../../domain/api-key-edits.ts";
import { reissueSecret } from "../../domain/api-key-secrets.ts";
import { getKey } from "../../domain/api-keys.ts";
import { requireKeyManager } from "../../domain/service-accounts.ts";
import { keyDescription, keyName } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keySettings } from "../../key-fields.ts";
import { keyUses, newKey, presentKeyWithSecret } from "../../presenters/api-key.ts";
import { serviceAccountParams } from "../../schemas.ts";

export const createServiceAccountApiKey = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/service-accounts/:userId/api-keys",
  operationId: "createServiceAccountApiKey",
  summary: "Create an API key of a service account",
  description:
    "Creates a key that acts as the service account, in its workspace only. The key of the request must not be restricted, and its owner needs every permission of the service account's role. If the response is lost, send the request again with the same `Idempotency-Key`: if the secret was never used, the response has another one, and the former one is no longer valid. A verification of the key with the cost 0 is not a use.",
  access: { workspace: "members:manage" },
  request: {
    params: serviceAccountParams,
    body: z
      .strictObject({
        name: keyName,
        description: keyDescription.default("").meta({ description: "What the key is for." }),
        ...keySettings,
      })
      .meta({ example: { name: "CI deploys", description: "Used by the deploy job." } }),
  },
  response: {
    status: 201,
    description: "The new API key and its secret, which is returned only once.",
    schema: newKey,
    hasEtag: true,
    notInEtag: keyUses,
  },
  secret: {
    member: "key",
    reissue: async (
      { params: { userId } },
      { origin, isOwnRetry, services: { quotas } },
      { trx, hash, answer },
    ) => {
      const id = decodeId("key", String(answer.id));
      const reissued = id && (await reissueSecret(trx, { userId, id, origin }, { hash, isOwnRetry }, quotas));
      return reissued && presentKeyWithSecret(reissued);
    },
  },
  errors: ["NOT_FOUND", "UNPROCESSABLE_CONTENT"],
  authorize: ({ params: { userId } }, { access: { scope }, origin }, trx) =>
    requireKeyManager(trx, { scope, origin }, userId),
  handle: async ({ params: { userId }, body }, { transact, origin, services: { quotas } }) => {
    const { name, description, ...settings } = body;
    return await transact(async (trx) => {
      const { id, secret } = await createKey(trx, { userId, name, description, settings, origin }, quotas);
      return presentKeyWithSecret({ apiKey: await getKey(trx, { userId, id }), secret });
    });
  },
});
