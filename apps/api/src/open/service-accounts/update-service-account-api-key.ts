import { updateKey } from "../../domain/api-key-edits.ts";
import { requireKeyManager } from "../../domain/service-accounts.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { apiKeyResponse, presentKey } from "../../presenters/api-key.ts";
import { serviceKeyParams } from "../../schemas.ts";
import { keyChanges } from "../api-keys/update-api-key.ts";

export const updateServiceAccountApiKey = defineEndpoint({
  method: "PATCH",
  path: "/workspaces/:workspaceId/service-accounts/:userId/api-keys/:keyId",
  operationId: "updateServiceAccountApiKey",
  summary: "Change an API key of a service account",
  description:
    "Changes the fields that you send and keeps the others. You can expand the access of the key, too: use `null` to remove a restriction, and set `isDisabled` to disable or enable the key. Changes take effect on the next request. The key of the request must not be restricted, and its owner needs every permission of the service account's role. With `If-Match`, the request is rejected if the key has changed since you read it.",
  access: { workspace: "members:manage" },
  request: { params: serviceKeyParams, body: keyChanges, ifMatch: true },
  response: { ...apiKeyResponse, description: "The API key after the change." },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  authorize: ({ params: { userId } }, { access: { scope }, origin }, trx) =>
    requireKeyManager(trx, { scope, origin }, userId),
  handle: async (
    { params: { userId, keyId }, body },
    { transact, origin, ifMatch, services: { quotas } },
  ) => {
    const { name, description, ...settings } = body;
    const edit = { userId, id: keyId, origin };
    const changes = { name, description, settings, versions: ifMatch, mayExpand: true };
    return presentKey(await transact((trx) => updateKey(trx, edit, changes, quotas)));
  },
});
