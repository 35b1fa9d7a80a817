import { deleteKey, requireManageable } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { ofKey } from "../../presenters/api-key.ts";

export const deleteApiKey = defineEndpoint({
  method: "DELETE",
  path: "/api-keys/:keyId",
  operationId: "deleteApiKey",
  summary: "Delete an API key",
  description:
    "Once you have the response, no node admits the key. This can't be undone. With `If-Match`, only if nobody has changed the key since you read it.",
  access: "key",
  request: { params: ofKey, ifMatch: true },
  response: { status: 204 },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  authorise: ({ params: { keyId } }, { principal }, trx) => requireManageable(trx, principal, { id: keyId }),
  handle: async ({ params: { keyId } }, { transact, principal, origin, ifMatch }) => {
    const edit = { userId: principal.userId, id: keyId, origin, versions: ifMatch };
    await transact((trx) => deleteKey(trx, edit));
    return undefined;
  },
});
