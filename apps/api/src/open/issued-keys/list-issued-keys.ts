import { listIssuedKeys as list } from "@latchkey/db/issued-keys";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getKeyspace } from "../../domain/keyspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { issuedKeyFilter } from "../../issued-key-filter.ts";
import { listQuery, pageOf, readPage, toPage } from "../../lists.ts";
import { issuedKey, presentIssuedKey } from "../../presenters/issued-key.ts";
import { keyspaceParams } from "../../schemas.ts";

const query = listQuery(["createdAt", "name", "expiresAt"]).extend(issuedKeyFilter);

export const listIssuedKeys = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/keys",
  operationId: "listIssuedKeys",
  summary: "List issued keys",
  description:
    "Lists the keys of a keyspace, oldest first, without their secrets. With a filter, a page can be shorter than `limit`, or empty, and still have a `nextCursor`: each request examines at most 10,000 keys.",
  access: { workspace: "keys:read" },
  request: { params: keyspaceParams, query },
  response: { status: 200, description: "A page of issued keys.", schema: pageOf(issuedKey) },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyspaceId }, query }, { read, access: { scope } }) => {
    const { name, externalId, status, start, permission } = query;
    const page = { ...readPage(query), keyspaceId, filter: { name, externalId, status, start, permission } };
    const keys = await read((db) =>
      inWorkspace(db, scope, async (trx) => {
        await getKeyspace(trx, scope, keyspaceId);
        return await list(trx, scope, page);
      }),
    );
    return toPage(keys, query, { present: presentIssuedKey, idOf: ({ id }) => id });
  },
});
