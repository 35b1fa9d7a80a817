import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getKeyspace as get } from "../../domain/keyspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keyspace, presentKeyspace } from "../../presenters/keyspace.ts";
import { keyspaceParams } from "../../schemas.ts";

export const getKeyspace = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId",
  operationId: "getKeyspace",
  summary: "Get a keyspace",
  description: "Returns a keyspace. Pass its `ETag` as `If-Match` when you update it.",
  access: { workspace: "keyspaces:read" },
  request: { params: keyspaceParams },
  response: {
    status: 200,
    description: "The keyspace.",
    schema: keyspace,
    hasEtag: true,
  },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyspaceId } }, { read, access: { scope } }) =>
    presentKeyspace(await read((db) => inWorkspace(db, scope, (trx) => get(trx, scope, keyspaceId)))),
});
