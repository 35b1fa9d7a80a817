import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getPendingTransfer } from "../../domain/ownership.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { ownershipTransfer, presentOwnershipTransfer } from "../../presenters/ownership-transfer.ts";
import { workspaceParams } from "../../schemas.ts";

export const getOwnershipTransfer = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/ownership-transfer",
  operationId: "getOwnershipTransfer",
  summary: "Get the pending ownership transfer",
  description:
    "Returns the pending ownership transfer. There is at most one. A transfer that has expired, or whose users can no longer make or accept it, is not pending.",
  access: { workspace: "members:read" },
  request: { params: workspaceParams },
  response: { status: 200, description: "The pending ownership transfer.", schema: ownershipTransfer },
  errors: ["NOT_FOUND"],
  handle: async (_request, { read, access: { scope } }) =>
    presentOwnershipTransfer(
      await read((db) => inWorkspace(db, scope, (trx) => getPendingTransfer(trx, scope))),
    ),
});
