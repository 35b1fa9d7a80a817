import { unblockWorkspaceKeys } from "../../domain/key-policies.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { workspaceKeyParams } from "../../presenters/workspace-key.ts";

export const unblockWorkspaceApiKey = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId/api-keys/:keyId/block",
  operationId: "unblockWorkspaceApiKey",
  summary: "Unblock an API key in a workspace",
  description:
    "Lets a blocked key reach the workspace again, and restarts its idle time. It does the same for a key that the policy rejects because it hasn't been used for too long. Other rules of the policy still apply.",
  access: { workspace: "api-keys:manage" },
  request: { params: workspaceKeyParams },
  response: { status: 204 },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyId } }, { transact, access: { scope }, origin }) => {
    await transact((trx) => unblockWorkspaceKeys(trx, { scope, origin }, [keyId]));
    return undefined;
  },
});
