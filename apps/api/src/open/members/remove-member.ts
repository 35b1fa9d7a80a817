import { removeMember as remove } from "../../domain/members.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { ofMember } from "../../schemas.ts";

export const removeMember = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId/members/:userId",
  operationId: "removeMember",
  summary: "Remove a member",
  description:
    "In force on the next request, for the member's keys and sessions. Everybody may leave; to remove another member takes `members:manage`, and no less than what that member holds. The last owner stays. With `If-Match`, only if nobody has changed the role meanwhile.",
  access: { workspace: "members:read" },
  request: { params: ofMember, ifMatch: true },
  response: { status: 204 },
  errors: ["NOT_FOUND", "CONFLICT", "PRECONDITION_FAILED"],
  handle: async ({ params: { userId } }, { transact, access: { scope }, origin, ifMatch }) => {
    await transact((trx) => remove(trx, { scope, origin }, { userId, versions: ifMatch }));
    return undefined;
  },
});
