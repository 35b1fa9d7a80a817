import { z } from "zod";
import { update } from "../../domain/workspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentWorkspace, workspace } from "../../presenters/workspace.ts";
import { inWorkspace } from "../../schemas.ts";
import { workspaceFieldChanges } from "../../workspace-fields.ts";

const body = z.strictObject(workspaceFieldChanges).meta({
  override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
    jsonSchema.minProperties = 1;
  },
});

export const renameWorkspace = defineEndpoint({
  method: "PATCH",
  path: "/workspaces/:workspaceId",
  operationId: "renameWorkspace",
  summary: "Update a workspace",
  description:
    "Changes the name or the description and keeps what you leave out. The slug stays. With `If-Match`, only if nobody has changed the workspace since you read it.",
  access: { workspace: "workspace:update" },
  request: { params: inWorkspace, body, ifMatch: true },
  response: { status: 200, schema: workspace, hasEtag: true },
  errors: ["PRECONDITION_FAILED"],
  handle: async ({ body: fields }, { transact, access: { scope, role }, origin, ifMatch }) => {
    const updated = await transact((trx) => update(trx, { scope, origin }, { fields, versions: ifMatch }));
    return presentWorkspace({ ...updated, role });
  },
});
