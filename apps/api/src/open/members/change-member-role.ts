import { z } from "zod";
import { changeMemberRole as change } from "../../domain/members.ts";
import { role } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { member, presentMember } from "../../presenters/member.ts";
import { memberParams } from "../../schemas.ts";

export const changeMemberRole = defineEndpoint({
  method: "PATCH",
  path: "/workspaces/:workspaceId/members/:userId",
  operationId: "changeMemberRole",
  summary: "Change a member's role",
  description:
    "Takes effect on the next request, for the member's keys and sessions. You can't grant or revoke a role with more permissions than your own, and the last owner keeps the role. A service account can't become an owner. With `If-Match`, the request is rejected if the role has changed since you read it.",
  access: { workspace: "members:manage" },
  request: {
    params: memberParams,
    body: z.strictObject({ role: role.meta({ example: "member" }) }),
    ifMatch: true,
  },
  response: { status: 200, description: "The member after the change.", schema: member, hasEtag: true },
  errors: ["NOT_FOUND", "CONFLICT", "PRECONDITION_FAILED", "UNPROCESSABLE_CONTENT"],
  handle: async (
    { params: { userId }, body },
    { transact, access: { scope }, origin, ifMatch, services: { quotas } },
  ) => {
    const requested = { userId, role: body.role, versions: ifMatch };
    return presentMember(await transact((trx) => change(trx, { scope, origin }, requested, quotas)));
  },
});
