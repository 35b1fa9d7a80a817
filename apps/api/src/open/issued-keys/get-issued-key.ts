import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getIssuedKey as get } from "../../domain/issued-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { issuedKey, issuedKeyUses, presentIssuedKey } from "../../presenters/issued-key.ts";
import { issuedKeyParams } from "../../schemas.ts";

export const getIssuedKey = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/keys/:issuedKeyId",
  operationId: "getIssuedKey",
  summary: "Get an issued key",
  description:
    "Returns an issued key without its secret, which can't be read again. Pass the `ETag` as `If-Match` when you update the key. The `ETag` covers the balance in `credits`, but not `usageCount` and `lastUsedAt`; to read those, omit `If-None-Match`.",
  access: { workspace: "keys:read" },
  request: { params: issuedKeyParams },
  response: {
    status: 200,
    description: "The issued key, without its secret.",
    schema: issuedKey,
    hasEtag: true,
    notInEtag: issuedKeyUses,
  },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyspaceId, issuedKeyId: id } }, { read, access: { scope } }) =>
    presentIssuedKey(
      await read((db) => inWorkspace(db, scope, (trx) => get(trx, scope, { keyspaceId, id }))),
    ),
});
