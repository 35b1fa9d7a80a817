import { listWorkspaceKeyPage, workspaceKeyStatuses } from "@latchkey/db/workspace-keys";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, searchFilter, toPage } from "../../lists.ts";
import { presentWorkspaceKey, workspaceKey } from "../../presenters/workspace-key.ts";
import { userId, workspaceParams } from "../../schemas.ts";

const query = listQuery(["createdAt", "name"]).extend({
  search: searchFilter.meta({
    description:
      "Only keys whose name or first characters, or whose owner's name or email address, contain this text. Case-insensitive.",
  }),
  status: z.enum(workspaceKeyStatuses).optional().meta({
    description:
      "Only keys with this status. `blocked`: an admin blocked the key from the workspace. `policy`: the workspace's policy rejects it. `expiring`: it expires within 30 days. `unused`: it is active and older than 30 days, and hasn't been used in the workspace for 30 days.",
  }),
  ownerId: userId.optional().meta({ description: "Only keys of this user." }),
});

export const listWorkspaceApiKeys = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/api-keys",
  operationId: "listWorkspaceApiKeys",
  summary: "List the API keys of a workspace",
  description:
    "Lists the API keys that can reach a workspace, oldest first: the keys of its members that aren't restricted to other workspaces, including those that are blocked or that the policy rejects.",
  access: { workspace: "api-keys:read" },
  request: { params: workspaceParams, query },
  response: {
    status: 200,
    description: "A page of the API keys that can reach the workspace.",
    schema: pageOf(workspaceKey),
  },
  errors: [],
  handle: async ({ query }, { read, access: { scope } }) => {
    const { search, status, ownerId } = query;
    const page = { ...readPage(query), filter: { search, status, ownerId } };
    const rows = await read((db) => inWorkspace(db, scope, (trx) => listWorkspaceKeyPage(trx, scope, page)));
    return toPage(rows, query, { present: presentWorkspaceKey, idOf: ({ id }) => id });
  },
});
