import { deleteKey } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";

export const revokeCurrentApiKey = defineEndpoint({
  method: "POST",
  path: "/api-keys/current/revoke",
  operationId: "revokeCurrentApiKey",
  summary: "Revoke the key of this request",
  description:
    "For a key that somebody else may know: whoever holds it can end it. It is deleted, and no node admits it once this is answered.",
  access: "key",
  request: {},
  response: { status: 204 },
  errors: ["NOT_FOUND"],
  handle: async (_input, { transact, principal: { userId, keyId }, origin }) => {
    await transact((trx) => deleteKey(trx, { userId, id: keyId, origin }));
    return undefined;
  },
});
