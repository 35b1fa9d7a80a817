import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getWorkspaceKey } from "../../domain/key-policies.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentWorkspaceKey, workspaceKey, workspaceKeyParams } from "../../presenters/workspace-key.ts";

export const getWorkspaceApiKey = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/api-keys/:keyId",
  operationId: "getWorkspaceApiKey",
  summary: "Get an API key of a workspace",
  description: "Returns an API key that can reach a workspace.",
  access: { workspace: "api-keys:read" },
  request: { params: workspaceKeyParams },
  response: { status: 200, description: "The API key, without its secret.", schema: workspaceKey },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyId } }, { read, access: { scope } }) =>
    presentWorkspaceKey(
      await read((db) => inWorkspace(db, scope, (trx) => getWorkspaceKey(trx, scope, keyId))),
    ),
});
