import { revokeOldSecrets } from "../../domain/issued-key-rotation.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { issuedKey, issuedKeyUses, presentIssuedKey } from "../../presenters/issued-key.ts";
import { issuedKeyParams } from "../../schemas.ts";

export const revokeOldIssuedKeySecrets = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/keys/:issuedKeyId/revoke-old-secrets",
  operationId: "revokeOldIssuedKeySecrets",
  summary: "Revoke the old secrets of an issued key",
  description:
    "Revokes all old secrets of the key. From the next request, they are no longer valid, even if their overlap has not ended. The current secret stays valid. Use this operation if an old secret has leaked: rotating the key again doesn't revoke it. If the key has no old secrets, nothing changes. With `If-Match`, the request is rejected if the key has changed since you read it.",
  access: { workspace: "keys:manage" },
  request: { params: issuedKeyParams, ifMatch: true },
  response: {
    status: 200,
    description: "The issued key. Its `formerSecrets` is empty.",
    schema: issuedKey,
    hasEtag: true,
    notInEtag: issuedKeyUses,
  },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  handle: async (
    { params: { keyspaceId, issuedKeyId: id } },
    { transact, access: { scope }, origin, ifMatch },
  ) =>
    presentIssuedKey(
      await transact((trx) => revokeOldSecrets(trx, { scope, origin }, { keyspaceId, id }, ifMatch)),
    ),
});
