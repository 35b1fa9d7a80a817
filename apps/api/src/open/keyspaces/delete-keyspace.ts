import { deleteKeyspace as remove } from "../../domain/keyspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keyspaceParams } from "../../schemas.ts";

export const deleteKeyspace = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId",
  operationId: "deleteKeyspace",
  summary: "Delete a keyspace",
  description:
    "Deletes the keyspace with its keys and consumers, which can't be undone. None of its keys is valid on the next request. Preview the deletion first. With `If-Match`, the request is rejected if the keyspace has changed since you read it.",
  access: { workspace: "keyspaces:manage" },
  request: { params: keyspaceParams, ifMatch: true },
  response: { status: 204 },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  handle: async ({ params: { keyspaceId } }, { transact, access: { scope }, origin, ifMatch }) => {
    await transact((trx) => remove(trx, { scope, origin }, keyspaceId, ifMatch));
    return undefined;
  },
});
