import { invitationStatuses, listInvitations as list } from "@latchkey/db/invitations";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { filterByStatus } from "../../domain/invitation-status.ts";
import { managedInvitations } from "../../domain/inviting-workspace.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, searchFilter, toPage } from "../../lists.ts";
import { invitation, presentInvitation } from "../../presenters/invitation.ts";
import { workspaceParams } from "../../schemas.ts";

const query = listQuery(["createdAt", "email"]).extend({
  search: searchFilter.meta({
    description: "Only invitations whose email address contains this text. Case-insensitive.",
  }),
  status: z.enum(invitationStatuses).optional().meta({
    description:
      "Only invitations with this status. `invalid`: the user who sent it is disabled, has left the workspace, or can no longer grant the role.",
  }),
});

export const listInvitations = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/invitations",
  operationId: "listInvitations",
  summary: "List invitations",
  description:
    "Lists the pending and expired invitations, oldest first. An expired one stays in the list for at least 30 days. Without the permission `members:manage`, the list has only the invitations that you sent.",
  access: { workspace: "members:invite" },
  request: { params: workspaceParams, query },
  response: { status: 200, description: "A page of invitations.", schema: pageOf(invitation) },
  errors: [],
  handle: async ({ query }, { read, access, principal: { restrictions } }) => {
    const { scope } = access;
    const { search, status } = query;
    const managed = managedInvitations(access, restrictions);
    const page = { ...readPage(query), filter: { ...managed, search, status: filterByStatus(status) } };
    const rows = await read((db) => inWorkspace(db, scope, (trx) => list(trx, scope, page)));
    return toPage(rows, query, { present: presentInvitation, idOf: ({ id }) => id });
  },
});
