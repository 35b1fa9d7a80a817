import { deleteServiceAccount as remove } from "../../domain/service-accounts.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { serviceAccountParams } from "../../schemas.ts";

export const deleteServiceAccount = defineEndpoint({
  method: "DELETE",
  path: "/workspaces/:workspaceId/service-accounts/:userId",
  operationId: "deleteServiceAccount",
  summary: "Delete a service account",
  description:
    "Deletes the service account with its API keys, which are rejected immediately, and revokes the invitations that it sent. This can't be undone. You need every permission of its role. A service account can't delete itself. With `If-Match`, the request is rejected if the service account has changed since you read it.",
  access: { workspace: "members:manage" },
  request: { params: serviceAccountParams, ifMatch: true },
  response: { status: 204 },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  handle: async ({ params: { userId } }, { transact, access: { scope }, origin, ifMatch }) => {
    await transact((trx) => remove(trx, { scope, origin }, { userId, versions: ifMatch }));
    return undefined;
  },
});
