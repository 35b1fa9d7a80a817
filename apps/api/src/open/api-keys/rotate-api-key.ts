import { reissueSecret, rotateKey } from "../../domain/api-key-secrets.ts";
import { requireManageable } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keyParams, keyUses, presentKeyWithSecret, rotatedKey, rotation } from "../../presenters/api-key.ts";

export const rotateApiKey = defineEndpoint({
  method: "POST",
  path: "/api-keys/:keyId/rotate",
  operationId: "rotateApiKey",
  summary: "Rotate an API key",
  description:
    "Replaces the secret of the key and keeps everything else. The old secret stays valid for the overlap, so that you can replace it without an outage. If the response is lost, send the request again with the same `Idempotency-Key`. Authenticate the retry with the old secret during the overlap, or with another API key of the same user. If the new secret was never used, you get another new secret. An old secret can't rotate the key, except to retry a rotation. A key that a workspace has blocked gets 403 for other keys that reach this workspace.",
  access: "key",
  request: {
    params: keyParams,
    ifMatch: true,
    body: rotation,
  },
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
      { params: { keyId } },
      { principal, origin, isOwnRetry, services: { quotas } },
      { trx, hash },
    ) => {
      const edit = { userId: principal.userId, id: keyId, origin };
      const reissued = await reissueSecret(trx, edit, { hash, isOwnRetry }, quotas);
      return reissued && presentKeyWithSecret(reissued);
    },
  },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  authorize: ({ params: { keyId } }, { principal, isOwnRetry }, trx) =>
    requireManageable(trx, principal, { id: keyId, isOwnRetry }),
  handle: async ({ params: { keyId }, body }, { transact, principal, origin, ifMatch, services }) => {
    const edit = { userId: principal.userId, id: keyId, origin, versions: ifMatch };
    return presentKeyWithSecret(
      await transact((trx) => rotateKey(trx, edit, body.overlapSeconds, services.quotas)),
    );
  },
});
