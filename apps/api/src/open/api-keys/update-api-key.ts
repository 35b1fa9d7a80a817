import { z } from "zod";
import { updateKey } from "../../domain/api-key-edits.ts";
import { requireManageable } from "../../domain/api-keys.ts";
import { keyDescription, keyName } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { keySettings } from "../../key-fields.ts";
import { apiKeyResponse, keyParams, presentKey } from "../../presenters/api-key.ts";

/** The changes to a key in the body of a request. */
export const keyChanges = z
  .strictObject({ name: keyName.optional(), description: keyDescription.optional(), ...keySettings })
  .meta({
    // Restrictions can't be lifted through the API, so the example must not lock out the key of someone who tries it.
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
    "Changes the fields that you send and keeps the others. Restrictions take effect on the next request. An edit that would expand access, such as removing a restriction with `null`, is rejected with 422. Only the owner (in the web app) and the operator (with the command) can expand a key's access. An old secret can't change keys. With `If-Match`, the request is rejected if the key has changed since you read it. A key that a workspace has blocked gets 403 for other keys that reach this workspace.",
  access: "key",
  request: { params: keyParams, body: keyChanges, ifMatch: true },
  response: { ...apiKeyResponse, description: "The API key after the change." },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED", "UNPROCESSABLE_CONTENT"],
  authorize: ({ params: { keyId } }, { principal }, trx) => requireManageable(trx, principal, { id: keyId }),
  handle: async ({ params: { keyId }, body }, { transact, principal, origin, ifMatch, services }) => {
    const { name, description, ...settings } = body;
    const edit = { userId: principal.userId, id: keyId, origin };
    const changes = { name, description, settings, versions: ifMatch, mayExpand: false };
    return presentKey(await transact((trx) => updateKey(trx, edit, changes, services.quotas)));
  },
});
