import { remove } from "../../domain/workspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { workspaceParams } from "../../schemas.ts";

export const deleteWorkspace = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId",
  operationId: "deleteWorkspace",
  summary: "Delete a workspace",
  description:
    "Deletes the workspace with everything in it, including its audit log. This can't be undone. With `If-Match`, the request is rejected if the workspace has changed since you read it.",
  access: { workspace: "workspace:delete" },
  request: { params: workspaceParams, ifMatch: true },
  response: { status: 204 },
  errors: ["PRECONDITION_FAILED"],
  handle: async (_input, { transact, access: { scope }, origin, ifMatch }) => {
    await transact((trx) => remove(trx, { scope, origin }, ifMatch));
    return undefined;
  },
});
