import { z } from "zod";
import { createWorkspace as create } from "../../domain/workspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentWorkspace, workspace } from "../../presenters/workspace.ts";
import { newWorkspaceFields } from "../../workspace-fields.ts";

export const createWorkspace = defineEndpoint({
  method: "POST",
  path: "/workspaces",
  operationId: "createWorkspace",
  summary: "Create a workspace",
  description:
    "The key's owner becomes the first owner of the workspace. The slug, which identifies the workspace in URLs of the web app, is derived from the name and doesn't change.",
  access: "unrestricted-key",
  request: { body: z.strictObject(newWorkspaceFields) },
  response: { status: 201, description: "The new workspace.", schema: workspace, hasEtag: true },
  errors: ["CONFLICT", "UNPROCESSABLE_CONTENT"],
  handle: async ({ body }, { services, transact, principal: { userId }, origin }) => {
    const workspace = { ...body, ownerId: userId, origin };
    const created = await transact((trx) => create(trx, workspace, services.quotas));
    return presentWorkspace({ ...created, role: "owner" });
  },
});
