import { decodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { reissueIssuedSecrets, rotateKeys } from "../../domain/issued-key-rotation.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import {
  bulkRotation,
  bulkRotationResult,
  presentBulkRotation,
  presentNewSecret,
  readBulkRotation,
} from "../../issued-key-bulk-fields.ts";
import { keyspaceParams } from "../../schemas.ts";

export const rotateIssuedKeys = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/keyspaces/:keyspaceId/keys/rotate",
  operationId: "rotateIssuedKeys",
  summary: "Rotate several issued keys",
  description:
    "Replaces the secrets of all keys of one consumer, or of up to 1,000 keys by their IDs, in one transaction, and keeps everything else. The old secrets stay valid for the overlap. A key that doesn't exist doesn't prevent the rotation of the others. If no key has the external ID, you get 200 with empty lists. Each rotated key gets an event in the audit log. Send an `Idempotency-Key`: if the response is lost, send the request again with the same one. Each key whose new secret was never used then gets another new secret, and the `secretStatus` of the others is `omitted`.",
  access: { workspace: "keys:manage" },
  request: { params: keyspaceParams, body: bulkRotation },
  response: {
    status: 200,
    description: "The rotated keys and their new secrets, which are returned only once.",
    schema: bulkRotationResult,
  },
  secrets: {
    list: "rotated",
    member: "key",
    reissue: async (
      { params: { keyspaceId } },
      { access: { scope }, origin, services: { quotas } },
      { trx, hashes, answer },
    ) => {
      const ids = readIds(answer);
      const issued = hashes.flatMap((issuedHash, index) => {
        const id = ids[index];
        return id ? [{ id, issuedHash }] : [];
      });
      const secrets = { keyspaceId, issued, quotas };
      const reissued = await reissueIssuedSecrets(trx, { scope, origin }, secrets);
      return ids.map((id) => {
        const created = id && reissued.get(id);
        return created && presentNewSecret(created);
      });
    },
  },
  errors: ["NOT_FOUND"],
  handle: async (
    { params: { keyspaceId }, body },
    { transact, access: { scope }, origin, services: { quotas } },
  ) => {
    const bulk = { keyspaceId, ...readBulkRotation(body), quotas };
    return presentBulkRotation(await transact((trx) => rotateKeys(trx, { scope, origin }, bulk)));
  },
});

const storedAnswer = z.object({ rotated: z.array(z.object({ id: z.string() })) });

/** The IDs of the keys in an earlier response, in its order. */
function readIds(answer: Record<string, unknown>) {
  return storedAnswer.parse(answer).rotated.map(({ id }) => decodeId("issuedKey", id));
}
