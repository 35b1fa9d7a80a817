import { z } from "zod";
import { rename } from "../../domain/workspaces.ts";
import { workspaceName } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentWorkspace, workspace } from "../../presenters/workspace.ts";
import { inWorkspace } from "../../schemas.ts";

export const renameWorkspace = defineEndpoint({
  method: "PATCH",
  path: "/workspaces/:workspaceId",
  operationId: "renameWorkspace",
  summary: "Rename a workspace",
  description: "Its address stays. With `If-Match`, only if nobody has edited it meanwhile.",
  access: { workspace: "workspace:update" },
  request: {
    params: inWorkspace,
    body: z.strictObject({ name: workspaceName.meta({ example: "Payments" }) }),
    ifMatch: true,
  },
  response: { status: 200, schema: workspace, hasEtag: true },
  errors: ["PRECONDITION_FAILED"],
  handle: async ({ body: { name } }, { transact, access: { scope, role }, origin, ifMatch }) => {
    const renamed = await transact((trx) => rename(trx, { scope, origin }, { name, versions: ifMatch }));
    return presentWorkspace({ ...renamed, role });
  },
});
