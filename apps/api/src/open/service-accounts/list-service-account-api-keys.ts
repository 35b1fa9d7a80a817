import { listApiKeyPage } from "@latchkey/db/api-keys";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getServiceAccount } from "../../domain/service-accounts.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { pageOf, readPage, toPage } from "../../lists.ts";
import { apiKey, presentKey } from "../../presenters/api-key.ts";
import { serviceAccountParams } from "../../schemas.ts";
import { keysQuery } from "../api-keys/list-api-keys.ts";

export const listServiceAccountApiKeys = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/service-accounts/:userId/api-keys",
  operationId: "listServiceAccountApiKeys",
  summary: "List the API keys of a service account",
  description: "Lists the API keys of a service account, oldest first, without their secrets.",
  access: { workspace: "api-keys:read" },
  request: { params: serviceAccountParams, query: keysQuery },
  response: {
    status: 200,
    description: "A page of the service account's API keys, without their secrets.",
    schema: pageOf(apiKey),
  },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { userId }, query }, { read, access: { scope } }) => {
    const { search, isDisabled } = query;
    const page = { ...readPage(query), filter: { search, isDisabled } };
    const rows = await read(async (db) => {
      await inWorkspace(db, scope, (trx) => getServiceAccount(trx, scope, userId));
      return await listApiKeyPage(db, userId, page);
    });
    return toPage(rows, query, { present: presentKey, idOf: ({ id }) => id });
  },
});
