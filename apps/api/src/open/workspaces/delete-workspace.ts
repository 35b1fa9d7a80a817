import { remove } from "../../domain/workspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { inWorkspace } from "../../schemas.ts";

export const deleteWorkspace = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId",
  operationId: "deleteWorkspace",
  summary: "Delete a workspace",
  description:
    "With everything in it, its audit log too. There is no way back. With `If-Match`, only if nobody has edited it meanwhile.",
  access: { workspace: "workspace:delete" },
  request: { params: inWorkspace, ifMatch: true },
  response: { status: 204 },
  errors: ["PRECONDITION_FAILED"],
  handle: async (_input, { transact, access: { scope }, origin, ifMatch }) => {
    await transact((trx) => remove(trx, { scope, origin }, ifMatch));
    return undefined;
  },
});
