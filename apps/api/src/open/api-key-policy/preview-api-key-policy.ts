import { getPolicy, previewPolicy } from "@latchkey/db/api-key-policies";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { applyChanges } from "../../domain/key-policies.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { policyQuery } from "../../policy-fields.ts";
import { maxRejectedKeys, policyPreview, presentPreview } from "../../presenters/api-key-policy.ts";
import { workspaceParams } from "../../schemas.ts";

export const previewApiKeyPolicy = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/api-key-policy/preview",
  operationId: "previewApiKeyPolicy",
  summary: "Preview an API key policy",
  description:
    "Lists the API keys that work in the workspace now and that would be rejected if the policy, or the requirement of a second factor, were changed to these values. Parameters that you leave out keep their value. Changes nothing.",
  access: { workspace: "api-keys:manage" },
  request: { params: workspaceParams, query: z.strictObject(policyQuery) },
  response: {
    status: 200,
    description: "The API keys that would lose access to the workspace.",
    schema: policyPreview,
  },
  errors: [],
  handle: async ({ query }, { read, access: { scope } }) =>
    presentPreview(
      await read((db) =>
        inWorkspace(db, scope, async (trx) => {
          const policy = applyChanges(await getPolicy(trx, scope), query);
          const { requiresSecondFactor } = query;
          return await previewPolicy(trx, scope, { policy, requiresSecondFactor, limit: maxRejectedKeys });
        }),
      ),
    ),
});
