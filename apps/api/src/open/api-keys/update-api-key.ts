import { z } from "zod";
import { requireManageable, updateKey } from "../../domain/api-keys.ts";
import { keyDescription, keyName } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keySettings } from "../../key-fields.ts";
import { apiKeyResponse, ofKey, presentKey } from "../../presenters/api-key.ts";

const body = z
  .strictObject({ name: keyName.optional(), description: keyDescription.optional(), ...keySettings })
  .meta({
    // Restrictions can't be lifted through the API: whoever tries the example must not lock the key out.
    example: { name: "CI deploys", description: "Used by the deploy job." },
    override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
      jsonSchema.minProperties = 1;
    },
  });

export const updateApiKey = defineEndpoint({
  method: "PATCH",
  path: "/api-keys/:keyId",
  operationId: "updateApiKey",
  summary: "Rename or restrict an API key",
  description:
    "Changes what you name and keeps the rest. Restrictions take effect on the next request. They can reduce what the key may do but never expand it (422): only its user can do that, in the web app. With `If-Match`, only if nobody has changed the key since you read it.",
  access: "key",
  request: { params: ofKey, body, ifMatch: true },
  response: apiKeyResponse,
  errors: ["NOT_FOUND", "PRECONDITION_FAILED", "UNPROCESSABLE_CONTENT"],
  authorise: ({ params: { keyId } }, { principal }, trx) => requireManageable(trx, principal, { id: keyId }),
  handle: async ({ params: { keyId }, body }, { transact, principal, origin, ifMatch }) => {
    const { name, description, ...settings } = body;
    const edit = { userId: principal.userId, id: keyId, origin };
    const changes = { name, description, settings, versions: ifMatch, mayExpand: false };
    return presentKey(await transact((trx) => updateKey(trx, edit, changes)));
  },
});
