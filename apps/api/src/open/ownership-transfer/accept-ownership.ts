import { acceptOwnership as accept } from "../../domain/ownership.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { member, presentMember } from "../../presenters/member.ts";
import { workspaceParams } from "../../schemas.ts";

export const acceptOwnership = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/ownership-transfer/accept",
  operationId: "acceptOwnership",
  summary: "Accept ownership",
  description:
    "You become an owner, and the user who offered ownership becomes an admin. Both changes take effect on the next request. The key must allow everything that an owner may do.",
  access: { workspace: "members:read" },
  request: { params: workspaceParams },
  response: {
    status: 200,
    description: "Your membership, now with the role of an owner.",
    schema: member,
    hasEtag: true,
  },
  errors: ["NOT_FOUND", "UNPROCESSABLE_CONTENT"],
  handle: async (_request, { transact, access: { scope }, origin, services: { quotas } }) =>
    presentMember(await transact((trx) => accept(trx, { scope, origin }, quotas))),
});
