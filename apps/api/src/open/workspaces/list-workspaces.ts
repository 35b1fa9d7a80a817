import { decodeId, encodeId } from "@latchkey/db/ids";
import { listMemberships } from "@latchkey/db/workspaces";
import { defineEndpoint } from "../../http/endpoint.ts";
import { decodeCursor, toPage } from "../cursor.ts";
import { pageOf, pageQuery } from "../schemas.ts";
import { presentWorkspace, workspace } from "./workspace.ts";

export const listWorkspaces = defineEndpoint({
  method: "GET",
  path: "/workspaces",
  operationId: "listWorkspaces",
  summary: "List workspaces",
  description: "The workspaces that the key's user belongs to, oldest first, with the user's role in each.",
  access: "key",
  request: { query: pageQuery },
  response: { status: 200, schema: pageOf(workspace) },
  errors: [],
  handle: async ({ query }, { instance, principal }) => {
    const after = decodeCursor(query.cursor, (position) => decodeId("workspace", position));
    const rows = await listMemberships(instance.db, principal.userId, { limit: query.limit + 1, after });
    return toPage(rows, query.limit, {
      present: presentWorkspace,
      position: (membership) => encodeId("workspace", membership.id),
    });
  },
});
