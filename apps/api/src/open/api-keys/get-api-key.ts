import { getKey, requireOwnKey } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { apiKeyResponse, ofKey, presentKey } from "../../presenters/api-key.ts";

export const getApiKey = defineEndpoint({
  method: "GET",
  path: "/api-keys/:keyId",
  operationId: "getApiKey",
  summary: "Get an API key",
  description:
    "Returns the key without its secret, which can't be read again. Send the `ETag` as `If-Match` with a change. It doesn't cover `usageCount` and `lastUsedAt`: to read those, leave `If-None-Match` out.",
  access: "key",
  request: { params: ofKey },
  response: apiKeyResponse,
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyId } }, { read, principal }) => {
    const key = await read(async (db) => {
      await requireOwnKey(db, principal, keyId);
      return await getKey(db, { userId: principal.userId, id: keyId });
    });
    return presentKey(key);
  },
});
