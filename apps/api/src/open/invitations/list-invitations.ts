import { listInvitations as list } from "@latchkey/db/invitations";
import { inWorkspace } from "@latchkey/db/workspace-scope";
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
    "Lists the invitations that nobody has accepted yet, oldest first. An invitation stays in the list for 30 days after it has expired.",
  access: { workspace: "members:manage" },
  request: { params: workspaceParams, query: listQuery(["createdAt", "email"]) },
  response: { status: 200, schema: pageOf(invitation) },
  errors: [],
  handle: async ({ query }, { read, access: { scope } }) => {
    const page = readPage(query);
    const rows = await read((db) => inWorkspace(db, scope, (trx) => list(trx, scope, page)));
    return toPage(rows, query, { present: presentInvitation, idOf: ({ id }) => id });
  },
});
