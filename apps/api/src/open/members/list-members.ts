import { listMembers as list } from "@latchkey/db/members";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { role, userKind } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, searchFilter, toPage } from "../../lists.ts";
import { member, presentMember } from "../../presenters/member.ts";
import { workspaceParams } from "../../schemas.ts";

const query = listQuery(["joinedAt", "name", "email"]).extend({
  role: role.optional().meta({ description: "Only members with this role." }),
  kind: userKind.optional().meta({ description: "Only people, or only service accounts." }),
  search: searchFilter.meta({
    description: "Only members whose name or email address contains this text. Case-insensitive.",
  }),
});

export const listMembers = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/members",
  operationId: "listMembers",
  summary: "List members",
  description: "Lists the members of a workspace, longest-standing first.",
  access: { workspace: "members:read" },
  request: { params: workspaceParams, query },
  response: { status: 200, description: "A page of members.", schema: pageOf(member) },
  errors: [],
  handle: async ({ query }, { read, access: { scope } }) => {
    const { role, kind, search } = query;
    const page = { ...readPage(query), filter: { role, kind, search } };
    const rows = await read((db) => inWorkspace(db, scope, (trx) => list(trx, scope, page)));
    return toPage(rows, query, { present: presentMember, idOf: ({ userId }) => userId });
  },
});
