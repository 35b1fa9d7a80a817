import { z } from "zod";
import { createServiceAccount as create } from "../../domain/service-accounts.ts";
import { serviceAccountName, serviceAccountRole } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentServiceAccount, serviceAccount } from "../../presenters/service-account.ts";
import { workspaceParams } from "../../schemas.ts";

export const createServiceAccount = defineEndpoint({
  method: "POST",
  path: "/workspaces/:workspaceId/service-accounts",
  operationId: "createServiceAccount",
  summary: "Create a service account",
  description:
    "Adds a member that is not a person, for an integration that must keep working when the person who set it up leaves. It can't sign in, and belongs to this workspace only. You can't grant a role with more permissions than your own, and a service account can't be an owner.",
  access: { workspace: "members:manage" },
  request: {
    params: workspaceParams,
    body: z.strictObject({
      name: serviceAccountName.meta({ ...serviceAccountName.meta(), example: "Deploys" }),
      role: serviceAccountRole.meta({ example: "member" }),
    }),
  },
  response: { status: 201, description: "The new service account.", schema: serviceAccount, hasEtag: true },
  errors: ["UNPROCESSABLE_CONTENT"],
  handle: async ({ body }, { transact, access: { scope }, origin, services: { quotas } }) =>
    presentServiceAccount(await transact((trx) => create(trx, { scope, origin }, body, quotas))),
});
