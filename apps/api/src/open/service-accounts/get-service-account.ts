import { inWorkspace } from "@latchkey/db/workspace-scope";
import { getServiceAccount as get } from "../../domain/service-accounts.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentServiceAccount, serviceAccount } from "../../presenters/service-account.ts";
import { serviceAccountParams } from "../../schemas.ts";

export const getServiceAccount = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/service-accounts/:userId",
  operationId: "getServiceAccount",
  summary: "Get a service account",
  description:
    "Returns a service account of a workspace. Pass the `ETag` as `If-Match` when you change the service account.",
  access: { workspace: "members:read" },
  request: { params: serviceAccountParams },
  response: { status: 200, description: "The service account.", schema: serviceAccount, hasEtag: true },
  errors: ["NOT_FOUND"],
  handle: async ({ params: { userId } }, { read, access: { scope } }) =>
    presentServiceAccount(await read((db) => inWorkspace(db, scope, (trx) => get(trx, scope, userId)))),
});
