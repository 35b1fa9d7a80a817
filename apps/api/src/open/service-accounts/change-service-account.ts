import { z } from "zod";
import { changeServiceAccount as change } from "../../domain/service-accounts.ts";
import { serviceAccountName, serviceAccountRole } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentServiceAccount, serviceAccount } from "../../presenters/service-account.ts";
import { serviceAccountParams } from "../../schemas.ts";

const body = z
  .strictObject({
    name: serviceAccountName.optional(),
    role: serviceAccountRole.optional(),
    isDisabled: z.boolean().optional().meta({ description: "Whether all of its API keys are rejected." }),
  })
  .meta({
    // The role with which the example of createServiceAccount creates the account, so that it isn't lowered.
    example: { name: "Deploys", role: "member" },
    override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
      jsonSchema.minProperties = 1;
    },
  });

export const changeServiceAccount = defineEndpoint({
  method: "PATCH",
  path: "/workspaces/:workspaceId/service-accounts/:userId",
  operationId: "changeServiceAccount",
  summary: "Change a service account",
  description:
    "Changes the name, role or status. Fields that you don't send keep their value. The role and the status apply to the next request with its API keys. You can't grant or revoke a role with more permissions than your own. With `If-Match`, the request is rejected if the service account has changed since you read it.",
  access: { workspace: "members:manage" },
  request: { params: serviceAccountParams, body, ifMatch: true },
  response: {
    status: 200,
    description: "The service account after the change.",
    schema: serviceAccount,
    hasEtag: true,
  },
  errors: ["NOT_FOUND", "PRECONDITION_FAILED"],
  handle: async ({ params: { userId }, body: changes }, { transact, access: { scope }, origin, ifMatch }) => {
    const requested = { ...changes, userId, versions: ifMatch };
    return presentServiceAccount(await transact((trx) => change(trx, { scope, origin }, requested)));
  },
});
