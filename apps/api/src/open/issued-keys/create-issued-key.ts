import { decodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { reissueIssuedSecret } from "../../domain/issued-key-rotation.ts";
import { createIssuedKey as create } from "../../domain/issued-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { newIssuedKeyFields } from "../../issued-key-fields.ts";
import {
  issuedKeyUses,
  issuedKeyWithSecret,
  presentIssuedKeyWithSecret,
} from "../../presenters/issued-key.ts";
import { keyspaceParams } from "../../schemas.ts";

export const createIssuedKey = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/keys",
  operationId: "createIssuedKey",
  summary: "Issue a key",
  description:
    "Issues a key to a consumer of your API. If you leave out `permissions`, `limits`, `credits` or `expiresAt`, the key gets the default of its keyspace. If the response is lost, send the request again with the same `Idempotency-Key`: if the secret was never used, the response has another one, and the former one is no longer valid.",
  access: { workspace: "keys:manage" },
  request: {
    params: keyspaceParams,
    body: z
      .strictObject(newIssuedKeyFields)
      .meta({ example: { name: "Acme", externalId: "customer_42", meta: { plan: "pro" } } }),
  },
  response: {
    status: 201,
    description: "The new key and its secret, which is returned only once.",
    schema: issuedKeyWithSecret,
    hasEtag: true,
    notInEtag: issuedKeyUses,
  },
  secret: {
    member: "key",
    reissue: async (
      { params: { keyspaceId } },
      { access: { scope }, origin, services: { quotas } },
      { trx, hash: issuedHash, answer },
    ) => {
      const id = decodeId("issuedKey", String(answer.id));
      const reissued =
        id && (await reissueIssuedSecret(trx, { scope, origin }, { keyspaceId, id, issuedHash, quotas }));
      return reissued && presentIssuedKeyWithSecret(reissued);
    },
  },
  errors: ["NOT_FOUND", "UNPROCESSABLE_CONTENT"],
  handle: async (
    { params: { keyspaceId }, body },
    { transact, access: { scope }, origin, services: { quotas } },
  ) => {
    const key = { ...body, keyspaceId };
    return presentIssuedKeyWithSecret(await transact((trx) => create(trx, { scope, origin }, key, quotas)));
  },
});
