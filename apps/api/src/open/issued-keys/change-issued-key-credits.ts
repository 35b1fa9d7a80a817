import { changeIssuedKeyCredits as change } from "../../domain/issued-key-credits.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { creditChange } from "../../issued-key-fields.ts";
import { issuedKey, issuedKeyUses, presentIssuedKey } from "../../presenters/issued-key.ts";
import { issuedKeyParams } from "../../schemas.ts";

export const changeIssuedKeyCredits = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/keys/:issuedKeyId/credits",
  operationId: "changeIssuedKeyCredits",
  summary: "Change the credits of an issued key",
  description:
    "Sets the balance of a key, or adds to or subtracts from it. Send one of `set`, `add` and `subtract`. Concurrent changes and verifications are all counted, and the next verification uses the new balance. If the balance would become negative, or greater than the largest balance, or if you add to or subtract from a key without credits, nothing is changed and you get 409. The `version` of the key doesn't change, so a change with `If-Match` still works. With `If-Match`, the request is rejected if the key has changed since you read it, but not because of a changed balance. Send an `Idempotency-Key`, so that a request that is repeated within 24 hours is applied once.",
  access: { workspace: "keys:manage" },
  request: { params: issuedKeyParams, body: creditChange, ifMatch: true },
  response: {
    status: 200,
    description: "The issued key with its new balance.",
    schema: issuedKey,
    hasEtag: true,
    notInEtag: issuedKeyUses,
  },
  errors: ["NOT_FOUND", "CONFLICT", "PRECONDITION_FAILED"],
  handle: async (
    { params: { keyspaceId, issuedKeyId: id }, body },
    { transact, access: { scope }, origin, ifMatch },
  ) => {
    const requested = { ...body, versions: ifMatch };
    return presentIssuedKey(
      await transact((trx) => change(trx, { scope, origin }, { keyspaceId, id }, requested)),
    );
  },
});
