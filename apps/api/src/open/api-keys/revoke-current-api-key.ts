import { revokePresented } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";

export const revokeCurrentApiKey = defineEndpoint({
  method: "POST",
  path: "/api-keys/current/revoke",
  operationId: "revokeCurrentApiKey",
  summary: "Revoke the key of this request",
  description:
    "For a key that somebody else may know: whoever holds it can end it. It is deleted, and no node admits it once this is answered. By a secret that it had before, its former secrets are ended, and the key stays.",
  access: "key",
  isAboutKey: true,
  request: {},
  response: { status: 204 },
  errors: ["NOT_FOUND"],
  handle: async (_input, { transact, principal, origin }) => {
    const edit = { userId: principal.userId, id: principal.keyId, origin };
    await transact((trx) => revokePresented(trx, edit, principal));
    return undefined;
  },
});
