import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getWorkspace as get } from "../../domain/workspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentWorkspace, workspace } from "../../presenters/workspace.ts";
import { workspaceParams } from "../../schemas.ts";

export const getWorkspace = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId",
  operationId: "getWorkspace",
  summary: "Get a workspace",
  description:
    "Returns a workspace that the key's owner is a member of. Pass its `ETag` as `If-Match` when you update it.",
  access: { workspace: "workspace:read" },
  request: { params: workspaceParams },
  response: { status: 200, description: "The workspace.", schema: workspace, hasEtag: true },
  errors: [],
  handle: async (_input, { read, access: { scope, role } }) => {
    const found = await read((db) => inWorkspace(db, scope, (trx) => get(trx, scope)));
    return presentWorkspace({ ...found, role });
  },
});
