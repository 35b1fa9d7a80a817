import { revokeOldSecrets } from "../../domain/api-key-secrets.ts";
import { requireManageable } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { apiKeyResponse, keyParams, presentKey } from "../../presenters/api-key.ts";

export const revokeOldApiKeySecrets = defineEndpoint({
  method: "POST",
  path: "/api-keys/:keyId/revoke-old-secrets",
  operationId: "revokeOldApiKeySecrets",
  summary: "Revoke the old secrets of an API key",
  description:
    "Revokes all old secrets of the key. From the next request, they are rejected, even if their overlap has not ended. The current secret stays valid. Use this operation if an old secret has leaked: rotating the key again doesn't revoke it. If the key has no old secrets, nothing changes. Requests with an old secret are rejected; to revoke the old secrets with one of them, send `POST /api-keys/current/revoke`. A restricted key can only revoke its own old secrets. With `If-Match`, the request is rejected if the key has changed since you read it. A key that a workspace has blocked gets 403 for other keys that reach this workspace.",
  access: "key",
  request: { params: keyParams, ifMatch: true },
  response: { ...apiKeyResponse, description: "The API key. Its `formerSecrets` is empty." },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  authorize: ({ params: { keyId } }, { principal }, trx) => requireManageable(trx, principal, { id: keyId }),
  handle: async ({ params: { keyId } }, { transact, principal, origin, ifMatch }) => {
    const edit = { userId: principal.userId, id: keyId, origin, versions: ifMatch };
    return presentKey(await transact((trx) => revokeOldSecrets(trx, edit)));
  },
});
