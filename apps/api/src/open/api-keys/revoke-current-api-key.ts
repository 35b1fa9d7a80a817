import { revokePresented } from "../../domain/api-key-secrets.ts";
import { defineEndpoint } from "../../http/endpoint.ts";

export const revokeCurrentApiKey = defineEndpoint({
  method: "POST",
  path: "/api-keys/current/revoke",
  operationId: "revokeCurrentApiKey",
  summary: "Revoke the key of this request",
  description:
    "Deletes the key of the request. Use this operation if a key has leaked: anyone who has the key can revoke it. Once you have the response, every node rejects the key, so a retry gets 403, even with the same `Idempotency-Key`. If the request uses an old secret, all old secrets are revoked and the key stays valid.",
  access: "key",
  isAboutKey: true,
  request: { ifMatch: true },
  response: { status: 204 },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  handle: async (_input, { transact, principal, origin, ifMatch }) => {
    const edit = { userId: principal.userId, id: principal.keyId, origin, versions: ifMatch };
    await transact((trx) => revokePresented(trx, edit, principal));
    return undefined;
  },
});
