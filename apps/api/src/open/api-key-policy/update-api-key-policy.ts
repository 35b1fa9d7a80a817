import { z } from "zod";
import { changePolicy } from "../../domain/key-policies.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { policyChanges } from "../../policy-fields.ts";
import { apiKeyPolicy, presentPolicy } from "../../presenters/api-key-policy.ts";
import { workspaceParams } from "../../schemas.ts";

const body = z.strictObject(policyChanges).meta({
  // No key is rejected if someone sends the example from the reference page.
  example: { maxIdleDays: null },
  override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
    jsonSchema.minProperties = 1;
  },
});

export const updateApiKeyPolicy = defineEndpoint({
  method: "PATCH",
  path: "/workspaces/:workspaceId/api-key-policy",
  operationId: "updateApiKeyPolicy",
  summary: "Change the API key policy",
  description:
    "Takes effect on the next request, for every key that can reach the workspace. Fields that you leave out keep their value. Preview the policy first to see which keys would stop working. With `If-Match`, the request is rejected if the policy has changed since you read it.",
  access: { workspace: "api-keys:manage" },
  request: { params: workspaceParams, body, ifMatch: true },
  response: { status: 200, description: "The policy after the change.", schema: apiKeyPolicy, hasEtag: true },
  errors: ["PRECONDITION_FAILED"],
  handle: async ({ body: changes }, { transact, access: { scope }, origin, ifMatch }) =>
    presentPolicy(
      await transact((trx) => changePolicy(trx, { scope, origin }, { changes, versions: ifMatch })),
    ),
});
