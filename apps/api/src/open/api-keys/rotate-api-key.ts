import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { requireManageable, rotateKey } from "../../domain/api-keys.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { overlapSeconds } from "../../key-fields.ts";
import { ofKey } from "../../presenters/api-key.ts";
import { shownId } from "../../schemas.ts";

const rotated = z
  .object({
    id: shownId("key"),
    key: z.string().optional().meta({
      description:
        "The new secret. It stands in this answer alone, and in none to a request that came again.",
      example: "lk_4fTq0aVb7Xk2mPz9Wc8sYd3nRe5jLg1hQu6t",
    }),
  })
  .meta({ id: "RotatedKey" });

export const rotateApiKey = defineEndpoint({
  method: "POST",
  path: "/api-keys/:keyId/rotate",
  operationId: "rotateApiKey",
  summary: "Give an API key a new secret",
  description:
    "The key stays what it is; the secret that it had is good for the overlap, so that it can be replaced where it is used without an outage, and is refused afterwards.",
  access: "key",
  request: {
    params: ofKey,
    ifMatch: true,
    body: z.strictObject({
      overlapSeconds: overlapSeconds.default(86_400).meta({
        description: "How long the old secret stays valid, in seconds: from 0 to 2592000, which is 30 days.",
        example: 86_400,
      }),
    }),
  },
  response: { status: 200, schema: rotated, secret: "key" },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  authorise: ({ params: { keyId } }, { principal }, trx) => requireManageable(trx, principal, keyId),
  handle: async ({ params: { keyId }, body }, { transact, principal, origin, ifMatch }) => {
    const edit = { userId: principal.userId, id: keyId, origin, versions: ifMatch };
    const { id, secret } = await transact((trx) => rotateKey(trx, edit, body.overlapSeconds));
    return { id: encodeId("key", id), key: secret };
  },
});
