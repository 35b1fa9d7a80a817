import { remove } from "../../domain/workspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { inWorkspace } from "../schemas.ts";

export const deleteWorkspace = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId",
  operationId: "deleteWorkspace",
  summary: "Delete a workspace",
  description: "With everything in it, its audit log too. There is no way back.",
  access: { workspace: "workspace:delete" },
  request: { params: inWorkspace },
  response: { status: 204 },
  errors: [],
  handle: async (_input, { transact, access: { scope }, origin }) => {
    await transact((trx) => remove(trx, { scope, origin }));
    return undefined;
  },
});
