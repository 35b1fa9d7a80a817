import { readableWorkspaces } from "@latchkey/auth/restrictions";
import { asUser } from "@latchkey/db/workspace-scope";
import { listMemberships } from "@latchkey/db/workspaces";
import { role } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, searchFilter, toPage } from "../../lists.ts";
import { presentWorkspace, workspace } from "../../presenters/workspace.ts";

const query = listQuery(["createdAt", "name"]).extend({
  role: role.optional().meta({ description: "Only workspaces in which the key's owner has this role." }),
  search: searchFilter.meta({
    description: "Only workspaces whose name contains this text. Case-insensitive.",
  }),
});

export const listWorkspaces = defineEndpoint({
  method: "GET",
  path: "/workspaces",
  operationId: "listWorkspaces",
  summary: "List workspaces",
  description:
    "Lists the workspaces that the key's owner is a member of, oldest first, with the owner's role in each. Omits workspaces that the key's restrictions exclude, and workspaces that reject the key by a block or by their API key policy; a key without the permission `workspace:read` gets an empty list.",
  access: "key",
  request: { query },
  response: {
    status: 200,
    description: "A page of workspaces that the key can reach.",
    schema: pageOf(workspace),
  },
  errors: [],
  handle: async ({ query }, { read, principal: { userId, keyId, restrictions } }) => {
    const { role, search } = query;
    const page = {
      ...readPage(query),
      filter: { role, search, workspaceIds: readableWorkspaces(restrictions), acceptingKey: keyId },
    };
    const rows = await read((db) => asUser(db, userId, (trx) => listMemberships(trx, userId, page)));
    return toPage(rows, query, { present: presentWorkspace, idOf: ({ id }) => id });
  },
});
