import { z } from "zod";
import { changeIssuedKey } from "../../domain/issued-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { issuedKeyChanges } from "../../issued-key-fields.ts";
import { issuedKey, issuedKeyUses, presentIssuedKey } from "../../presenters/issued-key.ts";
import { issuedKeyParams } from "../../schemas.ts";

const body = z.strictObject(issuedKeyChanges).meta({
  example: { name: "Acme", meta: { plan: "enterprise" } },
  override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
    jsonSchema.minProperties = 1;
  },
});

export const updateIssuedKey = defineEndpoint({
  method: "PATCH",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/keys/:issuedKeyId",
  operationId: "updateIssuedKey",
  summary: "Update an issued key",
  description:
    "Changes the fields that you send and keeps the others. Takes effect on the next request. `null` clears a field, and doesn't set the default of the keyspace. With `If-Match`, the request is rejected if the key has changed since you read it. Use it if you set `credits.remaining`: a request that is sent twice gives back the credits that were spent in between.",
  access: { workspace: "keys:manage" },
  request: { params: issuedKeyParams, body, ifMatch: true },
  response: {
    status: 200,
    description: "The issued key after the change.",
    schema: issuedKey,
    hasEtag: true,
    notInEtag: issuedKeyUses,
  },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED", "UNPROCESSABLE_CONTENT"],
  handle: async (
    { params: { keyspaceId, issuedKeyId: id }, body: changes },
    { transact, access: { scope }, origin, ifMatch, services: { quotas } },
  ) => {
    const change = { ...changes, versions: ifMatch };
    return presentIssuedKey(
      await transact((trx) => changeIssuedKey(trx, { scope, origin }, { keyspaceId, id }, change, quotas)),
    );
  },
});
