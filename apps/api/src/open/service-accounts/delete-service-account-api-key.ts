import { deleteKey } from "../../domain/api-key-edits.ts";
import { requireKeyManager } from "../../domain/service-accounts.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { serviceKeyParams } from "../../schemas.ts";

export const deleteServiceAccountApiKey = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId/service-accounts/:userId/api-keys/:keyId",
  operationId: "deleteServiceAccountApiKey",
  summary: "Delete an API key of a service account",
  description:
    "Deletes the key. Once you have the response, every node rejects the key. This can't be undone. The key of the request must not be restricted, and its owner needs every permission of the service account's role. With `If-Match`, the request is rejected if the key has changed since you read it.",
  access: { workspace: "members:manage" },
  request: { params: serviceKeyParams, ifMatch: true },
  response: { status: 204 },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  authorize: ({ params: { userId } }, { access: { scope }, origin }, trx) =>
    requireKeyManager(trx, { scope, origin }, userId),
  handle: async ({ params: { userId, keyId } }, { transact, origin, ifMatch }) => {
    await transact((trx) => deleteKey(trx, { userId, id: keyId, origin, versions: ifMatch }));
    return undefined;
  },
});
