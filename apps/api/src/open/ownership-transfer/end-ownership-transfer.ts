import { endTransfer } from "../../domain/ownership.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { workspaceParams } from "../../schemas.ts";

export const endOwnershipTransfer = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId/ownership-transfer",
  operationId: "endOwnershipTransfer",
  summary: "Withdraw or decline the ownership transfer",
  description:
    "An owner can withdraw the pending ownership transfer. The member to whom ownership is offered can decline it; a key restricted to permissions needs `members:manage` for that.",
  access: { workspace: "members:read" },
  request: { params: workspaceParams },
  response: { status: 204 },
  errors: ["NOT_FOUND"],
  handle: async (_request, { transact, access: { scope }, origin }) => {
    await transact((trx) => endTransfer(trx, { scope, origin }));
    return undefined;
  },
});
