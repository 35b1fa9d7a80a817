import { deleteIssuedKey as remove } from "../../domain/issued-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { issuedKeyParams } from "../../schemas.ts";

export const deleteIssuedKey = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/keys/:issuedKeyId",
  operationId: "deleteIssuedKey",
  summary: "Delete an issued key",
  description:
    "Deletes the key, which can't be undone. It is not valid on the next request. With `If-Match`, the request is rejected if the key has changed since you read it.",
  access: { workspace: "keys:manage" },
  request: { params: issuedKeyParams, ifMatch: true },
  response: { status: 204 },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  handle: async (
    { params: { keyspaceId, issuedKeyId: id } },
    { transact, access: { scope }, origin, ifMatch },
  ) => {
    await transact((trx) => remove(trx, { scope, origin }, { keyspaceId, id }, ifMatch));
    return undefined;
  },
});
