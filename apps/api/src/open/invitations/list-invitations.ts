import { listInvitations as list } from "@latchkey/db/invitations";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { managedInvitations } from "../../domain/inviting-workspace.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, toPage } from "../../lists.ts";
import { invitation, presentInvitation } from "../../presenters/invitation.ts";
import { workspaceParams } from "../../schemas.ts";

export const listInvitations = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/invitations",
  operationId: "listInvitations",
  summary: "List invitations",
  description:
    "Lists the invitations that nobody has accepted yet, oldest first. An invitation stays in the list for 30 days after it has expired. Without the permission `members:manage`, the list has only the invitations that you sent.",
  access: { workspace: "members:invite" },
  request: { params: workspaceParams, query: listQuery(["createdAt", "email"]) },
  response: { status: 200, description: "A page of invitations.", schema: pageOf(invitation) },
  errors: [],
  handle: async ({ query }, { read, access, principal: { restrictions } }) => {
    const { scope } = access;
    const page = { ...readPage(query), filter: managedInvitations(access, restrictions) };
    const rows = await read((db) => inWorkspace(db, scope, (trx) => list(trx, scope, page)));
    return toPage(rows, query, { present: presentInvitation, idOf: ({ id }) => id });
  },
});
