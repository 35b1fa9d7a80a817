import { z } from "zod";
import { changeMemberRole as change } from "../../domain/members.ts";
import { role } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { member, presentMember } from "../../presenters/member.ts";
import { ofMember } from "../../schemas.ts";

export const changeMemberRole = defineEndpoint({
  method: "PATCH",
  path: "/workspaces/:workspaceId/members/:userId",
  operationId: "changeMemberRole",
  summary: "Change a member's role",
  description:
    "In force on the next request, for the member's keys and sessions. Nobody gives or takes a role that holds more than their own, and a workspace keeps an owner. With `If-Match`, only if nobody has changed it meanwhile.",
  access: { workspace: "members:manage" },
  request: {
    params: ofMember,
    body: z.strictObject({ role: role.meta({ example: "member" }) }),
    ifMatch: true,
  },
  response: { status: 200, schema: member, hasEtag: true },
  errors: ["NOT_FOUND", "CONFLICT", "PRECONDITION_FAILED", "UNPROCESSABLE_CONTENT"],
  handle: async (
    { params: { userId }, body },
    { transact, access: { scope }, origin, ifMatch, instance: { quotas } },
  ) => {
    const demand = { userId, role: body.role, versions: ifMatch };
    return presentMember(await transact((trx) => change(trx, { scope, origin }, demand, quotas)));
  },
});
