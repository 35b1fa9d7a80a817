import { reissueSecret, rotateKey } from "../../domain/api-key-secrets.ts";
import { requireKeyManager } from "../../domain/service-accounts.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keyUses, presentKeyWithSecret, rotatedKey, rotation } from "../../presenters/api-key.ts";
import { serviceKeyParams } from "../../schemas.ts";

export const rotateServiceAccountApiKey = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/service-accounts/:userId/api-keys/:keyId/rotate",
  operationId: "rotateServiceAccountApiKey",
  summary: "Rotate an API key of a service account",
  description:
    "Replaces the secret of the key and keeps everything else. The old secret stays valid for the overlap, so that you can replace it without an outage. The key of the request must not be restricted, and its owner needs every permission of the service account's role. If the response is lost, send the request again with the same `Idempotency-Key`. If the new secret was never used, you get another new secret.",
  access: { workspace: "members:manage" },
  request: { params: serviceKeyParams, ifMatch: true, body: rotation },
  response: {
    status: 200,
    description: "The API key and its new secret, which is returned only once.",
    schema: rotatedKey,
    hasEtag: true,
    notInEtag: keyUses,
  },
  secret: {
    member: "key",
    reissue: async (
      { params: { userId, keyId } },
      { origin, isOwnRetry, services: { quotas } },
      { trx, hash },
    ) => {
      const edit = { userId, id: keyId, origin };
      const reissued = await reissueSecret(trx, edit, { hash, isOwnRetry }, quotas);
      return reissued && presentKeyWithSecret(reissued);
    },
  },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  authorize: ({ params: { userId, keyId } }, { access: { scope }, origin, isOwnRetry }, trx) =>
    requireKeyManager(trx, { scope, origin }, userId, { ownRetryOf: isOwnRetry ? keyId : undefined }),
  handle: async (
    { params: { userId, keyId }, body: { overlapSeconds } },
    { transact, origin, ifMatch, services: { quotas } },
  ) => {
    const edit = { userId, id: keyId, origin, versions: ifMatch };
    return presentKeyWithSecret(await transact((trx) => rotateKey(trx, edit, overlapSeconds, quotas)));
  },
});
