import { z } from "zod";
import { requireManageable, updateKey } from "../../domain/api-keys.ts";
import { keyDescription, keyName } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keySettings } from "../../key-fields.ts";
import { apiKeyResponse, ofKey, presentKey } from "../../presenters/api-key.ts";

const body = z.strictObject({
  name: keyName.optional().meta({ example: "CI deploys" }),
  description: keyDescription.optional().meta({ example: "Used by the deploy job." }),
  ...keySettings,
});

export const updateApiKey = defineEndpoint({
  method: "PATCH",
  path: "/api-keys/:keyId",
  operationId: "updateApiKey",
  summary: "Rename or narrow an API key",
  description:
    "What is not named stays. It may hold the key to less, in force on the next request, and never to more: that is for its user in the web app (422). With `If-Match`, only if nobody has edited it meanwhile.",
  access: "key",
  request: { params: ofKey, body, ifMatch: true },
  response: apiKeyResponse,
  errors: ["NOT_FOUND", "PRECONDITION_FAILED", "UNPROCESSABLE_CONTENT"],
  authorise: ({ params: { keyId } }, { principal }, trx) => requireManageable(trx, principal, keyId),
  handle: async ({ params: { keyId }, body }, { transact, principal, origin, ifMatch }) => {
    const { name, description, ...settings } = body;
    const edit = { userId: principal.userId, id: keyId, origin };
    const changes = { name, description, settings, versions: ifMatch, mayExpand: false };
    return presentKey(await transact((trx) => updateKey(trx, edit, changes)));
  },
});
