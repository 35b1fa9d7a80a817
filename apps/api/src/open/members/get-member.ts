import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getMember as get } from "../../domain/members.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { member, presentMember } from "../../presenters/member.ts";
import { memberParams } from "../../schemas.ts";

export const getMember = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/members/:userId",
  operationId: "getMember",
  summary: "Get a member",
  description:
    "Returns a member of a workspace, with the role. Pass the `ETag` as `If-Match` when you change the role.",
  access: { workspace: "members:read" },
  request: { params: memberParams },
  response: { status: 200, description: "The member.", schema: member, hasEtag: true },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { userId } }, { read, access: { scope } }) =>
    presentMember(await read((db) => inWorkspace(db, scope, (trx) => get(trx, scope, userId)))),
});
