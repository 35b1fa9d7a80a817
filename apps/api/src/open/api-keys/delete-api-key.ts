import { deleteKey } from "../../domain/api-key-edits.ts";
import { requireManageable } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keyParams } from "../../presenters/api-key.ts";

export const deleteApiKey = defineEndpoint({
  method: "DELETE",
  path: "/api-keys/:keyId",
  operationId: "deleteApiKey",
  summary: "Delete an API key",
  description:
    "Deletes the key. Once you have the response, every node rejects the key. This can't be undone. An old secret can't delete keys. A key that a workspace has blocked gets 403 for other keys that reach this workspace. With `If-Match`, the request is rejected if the key has changed since you read it.",
  access: "key",
  request: { params: keyParams, ifMatch: true },
  response: { status: 204 },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  authorize: ({ params: { keyId } }, { principal }, trx) => requireManageable(trx, principal, { id: keyId }),
  handle: async ({ params: { keyId } }, { transact, principal, origin, ifMatch }) => {
    const edit = { userId: principal.userId, id: keyId, origin, versions: ifMatch };
    await transact((trx) => deleteKey(trx, edit));
    return undefined;
  },
});
