import { listIssuedKeys as list } from "@latchkey/db/issued-keys";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import { getKeyspace } from "../../domain/keyspaces.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { externalId, issuedPermission } from "../../issued-key-fields.ts";
import { listQuery, pageOf, readPage, searchFilter, toPage } from "../../lists.ts";
import { issuedKey, issuedKeyStatus, presentIssuedKey } from "../../presenters/issued-key.ts";
import { keyspaceParams } from "../../schemas.ts";

const query = listQuery(["createdAt", "name", "expiresAt"]).extend({
  name: searchFilter.meta({ description: "Only keys whose name starts with this text. Case-insensitive." }),
  externalId: externalId.optional().meta({ description: "Only keys of this consumer." }),
  status: issuedKeyStatus.optional().meta({ description: "Only keys with this status." }),
  start: z
    .string()
    .min(1, "must not be empty")
    .max(maxLength.keyspacePrefix + 7)
    .regex(/^[0-9A-Za-z_]+$/, "must be the first characters of a secret")
    .optional()
    .meta({ description: "Only keys whose secret starts with these characters.", example: "sk_live_4fTq" }),
  permission: issuedPermission.optional().meta({
    description: "Only keys with this permission in their list. A wildcard doesn't match other permissions.",
  }),
});

export const listIssuedKeys = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/keys",
  operationId: "listIssuedKeys",
  summary: "List issued keys",
  description:
    "Lists the keys of a keyspace, oldest first, without their secrets. With filters that match many keys each, but few together, a page can be shorter than `limit`, or empty, and still have a `nextCursor`: each request examines at most 10,000 keys.",
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
