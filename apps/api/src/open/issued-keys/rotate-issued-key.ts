import { reissueIssuedSecret, rotateKey } from "../../domain/issued-key-rotation.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { rotation } from "../../presenters/api-key.ts";
import {
  issuedKeyUses,
  issuedKeyWithSecret,
  presentIssuedKeyWithSecret,
} from "../../presenters/issued-key.ts";
import { issuedKeyParams } from "../../schemas.ts";

export const rotateIssuedKey = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/keys/:issuedKeyId/rotate",
  operationId: "rotateIssuedKey",
  summary: "Rotate an issued key",
  description:
    "Replaces the secret of the key and keeps everything else. The new secret has the current prefix of the keyspace. The old secret stays valid for the overlap, so that the consumer can replace it without an outage. At most five old secrets are valid at a time; a sixth revokes the oldest. If the response is lost, send the request again with the same `Idempotency-Key`. If the new secret was never used, you get another new secret.",
  access: { workspace: "keys:manage" },
  request: { params: issuedKeyParams, ifMatch: true, body: rotation },
  response: {
    status: 200,
    description: "The issued key and its new secret, which is returned only once.",
    schema: issuedKeyWithSecret,
    hasEtag: true,
    notInEtag: issuedKeyUses,
  },
  secret: {
    member: "key",
    reissue: async (
      { params: { keyspaceId, issuedKeyId: id } },
      { access: { scope }, origin, services: { quotas } },
      { trx, hash: issuedHash },
    ) => {
      const reissued = await reissueIssuedSecret(
        trx,
        { scope, origin },
        { keyspaceId, id, issuedHash, quotas },
      );
      return reissued && presentIssuedKeyWithSecret(reissued);
    },
  },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  handle: async (
    { params: { keyspaceId, issuedKeyId: id }, body: { overlapSeconds } },
    { transact, access: { scope }, origin, ifMatch, services: { quotas } },
  ) => {
    const rotation = { overlapSeconds, versions: ifMatch, quotas };
    const edit = { scope, origin };
    return presentIssuedKeyWithSecret(
      await transact((trx) => rotateKey(trx, edit, { keyspaceId, id }, rotation)),
    );
  },
});
