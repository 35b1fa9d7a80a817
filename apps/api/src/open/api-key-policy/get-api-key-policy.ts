import { getPolicy } from "@latchkey/db/api-key-policies";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { defineEndpoint } from "../../http/endpoint.ts";
import { apiKeyPolicy, presentPolicy } from "../../presenters/api-key-policy.ts";
import { workspaceParams } from "../../schemas.ts";

export const getApiKeyPolicy = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/api-key-policy",
  operationId: "getApiKeyPolicy",
  summary: "Get the API key policy",
  description:
    "Returns the requirements of a workspace for the API keys that reach it. A key that doesn't meet them is rejected in this workspace, and keeps its access to others. Pass the `ETag` as `If-Match` when you change the policy.",
  access: { workspace: "workspace:read" },
  request: { params: workspaceParams },
  response: {
    status: 200,
    description: "The API key policy of the workspace.",
    schema: apiKeyPolicy,
    hasEtag: true,
  },
  errors: [],
  handle: async (_input, { read, access: { scope } }) =>
    presentPolicy(await read((db) => inWorkspace(db, scope, (trx) => getPolicy(trx, scope)))),
});
