import { z } from "zod";
import { update } from "../../domain/workspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentWorkspace, workspace } from "../../presenters/workspace.ts";
import { workspaceParams } from "../../schemas.ts";
import { workspaceExamples, workspaceFieldChanges } from "../../workspace-fields.ts";

const body = z.strictObject(workspaceFieldChanges).meta({
  // A retention would delete older events for good if someone sends the example from the reference page.
  example: workspaceExamples,
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
    "Changes the name, the description, whether the workspace requires a second factor, and how long its audit log is kept; at least one of them. Only a user who has a second factor can require one. Only an owner can change how long the audit log is kept; a restricted key also needs `workspace:delete`. Older events are deleted in the background, in small steps. The slug doesn't change. With `If-Match`, the request is rejected if the workspace has changed since you read it.",
  access: { workspace: "workspace:update" },
  request: { params: workspaceParams, body, ifMatch: true },
  response: { status: 200, description: "The workspace after the change.", schema: workspace, hasEtag: true },
  errors: ["CONFLICT", "PRECONDITION_FAILED"],
  handle: async ({ body: fields }, { transact, access: { scope, role }, origin, ifMatch }) => {
    const updated = await transact((trx) => update(trx, { scope, origin }, { fields, versions: ifMatch }));
    return presentWorkspace({ ...updated, role });
  },
});
