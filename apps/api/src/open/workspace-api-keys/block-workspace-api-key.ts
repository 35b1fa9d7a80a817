import { blockWorkspaceKeys } from "../../domain/key-policies.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { workspaceKeyParams } from "../../presenters/workspace-key.ts";

export const blockWorkspaceApiKey = defineEndpoint({
  method: "PUT",
  path: "/workspaces/:workspaceId/api-keys/:keyId/block",
  operationId: "blockWorkspaceApiKey",
  summary: "Block an API key from a workspace",
  description:
    "Takes effect on the next request: the workspace rejects the key until it is unblocked, even if its owner rotates it, or leaves the workspace and joins again. The key keeps its access to other workspaces. It can't change other keys of its owner that reach this workspace. Its owner sees who blocked it.",
  access: { workspace: "api-keys:manage" },
  request: { params: workspaceKeyParams },
  response: { status: 204 },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyId } }, { transact, access: { scope }, origin }) => {
    await transact((trx) => blockWorkspaceKeys(trx, { scope, origin }, [keyId]));
    return undefined;
  },
});
