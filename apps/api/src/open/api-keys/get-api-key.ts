import { getKey, requireOwnKey } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { apiKey, ofKey, presentKey } from "../../presenters/api-key.ts";

export const getApiKey = defineEndpoint({
  method: "GET",
  path: "/api-keys/:keyId",
  operationId: "getApiKey",
  summary: "Get an API key",
  description: "Without its secret, which nobody can get. Its `ETag` goes into the `If-Match` of an edit.",
  access: "key",
  request: { params: ofKey },
  response: { status: 200, schema: apiKey, hasEtag: true },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { keyId } }, { read, principal }) => {
    const key = await read(async (db) => {
      await requireOwnKey(db, principal, keyId);
      return await getKey(db, { userId: principal.userId, id: keyId });
    });
    return presentKey(key);
  },
});
