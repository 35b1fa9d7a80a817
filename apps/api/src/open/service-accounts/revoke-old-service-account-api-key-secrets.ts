import { revokeOldSecrets } from "../../domain/api-key-secrets.ts";
import { requireKeyManager } from "../../domain/service-accounts.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { apiKeyResponse, presentKey } from "../../presenters/api-key.ts";
import { serviceKeyParams } from "../../schemas.ts";

export const revokeOldServiceAccountApiKeySecrets = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/service-accounts/:userId/api-keys/:keyId/revoke-old-secrets",
  operationId: "revokeOldServiceAccountApiKeySecrets",
  summary: "Revoke the old secrets of an API key of a service account",
  description:
    "Revokes all old secrets of the key. From the next request, they are rejected, even if their overlap has not ended. The current secret stays valid. Use this operation if an old secret has leaked: rotating the key again doesn't revoke it. If the key has no old secrets, nothing changes. The key of the request must not be restricted, and its owner needs every permission of the service account's role. With `If-Match`, the request is rejected if the key has changed since you read it.",
  access: { workspace: "members:manage" },
  request: { params: serviceKeyParams, ifMatch: true },
  response: { ...apiKeyResponse, description: "The API key. Its `formerSecrets` is empty." },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  authorize: ({ params: { userId } }, { access: { scope }, origin }, trx) =>
    requireKeyManager(trx, { scope, origin }, userId),
  handle: async ({ params: { userId, keyId } }, { transact, origin, ifMatch }) =>
    presentKey(
      await transact((trx) => revokeOldSecrets(trx, { userId, id: keyId, origin, versions: ifMatch })),
    ),
});
