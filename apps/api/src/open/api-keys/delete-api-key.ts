import { deleteKey, requireManageable } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { ofKey } from "../../presenters/api-key.ts";

export const deleteApiKey = defineEndpoint({
  method: "DELETE",
  path: "/api-keys/:keyId",
  operationId: "deleteApiKey",
  summary: "Delete an API key",
  description: "No node admits it once this is answered. There is no way back.",
  access: "key",
  request: { params: ofKey },
  response: { status: 204 },
  errors: ["NOT_FOUND"],
  authorise: ({ params: { keyId } }, { principal }, trx) => requireManageable(trx, principal, keyId),
  handle: async ({ params: { keyId } }, { transact, principal, origin }) => {
    await transact((trx) => deleteKey(trx, { userId: principal.userId, id: keyId, origin }));
    return undefined;
  },
});
