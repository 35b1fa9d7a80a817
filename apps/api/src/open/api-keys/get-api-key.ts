import { getKey, requireReadableKey } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { apiKeyResponse, keyParams, presentKey } from "../../presenters/api-key.ts";

export const getApiKey = defineEndpoint({
  method: "GET",
  path: "/api-keys/:keyId",
  operationId: "getApiKey",
  summary: "Get an API key",
  description:
    "Returns the key without its secret, which can't be read again. Pass the `ETag` as `If-Match` when you update the key. The `ETag` doesn't cover `usageCount` and `lastUsedAt`; to read those, omit `If-None-Match`.",
  access: "key",
  request: { params: keyParams },
  response: { ...apiKeyResponse, description: "The API key, without its secret." },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyId } }, { read, principal }) => {
    const key = await read(async (db) => {
      await requireReadableKey(db, principal, keyId);
      return await getKey(db, { userId: principal.userId, id: keyId });
    });
    return presentKey(key);
  },
});
