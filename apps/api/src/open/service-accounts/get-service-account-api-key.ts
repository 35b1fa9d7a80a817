import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getKey } from "../../domain/api-keys.ts";
import { getServiceAccount } from "../../domain/service-accounts.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { apiKeyResponse, presentKey } from "../../presenters/api-key.ts";
import { serviceKeyParams } from "../../schemas.ts";

export const getServiceAccountApiKey = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/service-accounts/:userId/api-keys/:keyId",
  operationId: "getServiceAccountApiKey",
  summary: "Get an API key of a service account",
  description:
    "Returns the key without its secret, which can't be read again. Pass the `ETag` as `If-Match` when you update the key. The `ETag` doesn't cover `usageCount` and `lastUsedAt`; to read those, omit `If-None-Match`.",
  access: { workspace: "api-keys:read" },
  request: { params: serviceKeyParams },
  response: { ...apiKeyResponse, description: "The API key, without its secret." },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { userId, keyId } }, { read, access: { scope } }) => {
    const key = await read(async (db) => {
      await inWorkspace(db, scope, (trx) => getServiceAccount(trx, scope, userId));
      return await getKey(db, { userId, id: keyId });
    });
    return presentKey(key);
  },
});
