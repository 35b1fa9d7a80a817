import { keyspaceStatuses, listKeyspaces as list } from "@latchkey/db/keyspaces";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, searchFilter, toPage } from "../../lists.ts";
import { keyspace, presentKeyspace } from "../../presenters/keyspace.ts";
import { workspaceParams } from "../../schemas.ts";

const query = listQuery(["createdAt", "name"]).extend({
  search: searchFilter.meta({
    description: "Only keyspaces whose name, prefix or environment contains this text. Case-insensitive.",
  }),
  status: z.enum(keyspaceStatuses).optional().meta({ description: "Only keyspaces with this status." }),
});

export const listKeyspaces = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/keyspaces",
  operationId: "listKeyspaces",
  summary: "List keyspaces",
  description: "Lists the keyspaces of a workspace, oldest first.",
  access: { workspace: "keyspaces:read" },
  request: { params: workspaceParams, query },
  response: { status: 200, description: "A page of keyspaces.", schema: pageOf(keyspace) },
  errors: [],
  handle: async ({ query }, { read, access: { scope } }) => {
    const { search, status } = query;
    const page = { ...readPage(query), filter: { search, status } };
    const rows = await read((db) => inWorkspace(db, scope, (trx) => list(trx, scope, page)));
    return toPage(rows, query, { present: presentKeyspace, idOf: ({ id }) => id });
  },
});
