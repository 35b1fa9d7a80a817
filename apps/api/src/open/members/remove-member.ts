import { removeMember as remove } from "../../domain/members.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { memberParams } from "../../schemas.ts";

export const removeMember = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId/members/:userId",
  operationId: "removeMember",
  summary: "Remove a member",
  description:
    "Takes effect on the next request, for the member's keys and sessions. Every person can leave; a key restricted to permissions needs `members:manage` for that. To remove another member, you need `members:manage` and every permission of that member's role. A service account is deleted, with its API keys, and can't delete itself. The last owner can't leave or be removed. With `If-Match`, the request is rejected if the role has changed since you read it.",
  access: { workspace: "members:read" },
  request: { params: memberParams, ifMatch: true },
  response: { status: 204 },
  errors: ["NOT_FOUND", "CONFLICT", "PRECONDITION_FAILED"],
  handle: async ({ params: { userId } }, { transact, access: { scope }, origin, ifMatch }) => {
    await transact((trx) => remove(trx, { scope, origin }, { userId, versions: ifMatch }));
    return undefined;
  },
});
