import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { previewOffboarding, requirePreviewAccess } from "../../domain/offboarding.ts";
import { role } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { offboardingPreview, presentOffboarding } from "../../presenters/affected-key.ts";
import { memberParams } from "../../schemas.ts";

export const listAffectedApiKeys = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/members/:userId/affected-api-keys",
  operationId: "listAffectedApiKeys",
  summary: "Preview a member's removal or new role",
  description:
    "Lists the API keys of a member that can reach the workspace, and what each of them could no longer do if the member were removed or had the given role. Changes nothing. To preview your own membership with an unrestricted key, you need only `members:read`. In all other cases, you also need `api-keys:read`.",
  access: { workspace: "members:read" },
  request: {
    params: memberParams,
    query: z.strictObject({
      role: role
        .optional()
        .meta({ description: "The new role; leave it out to preview the removal.", example: "viewer" }),
    }),
  },
  response: {
    status: 200,
    description: "The API keys that a removal or a new role would affect.",
    schema: offboardingPreview,
  },
  errors: ["NOT_FOUND"],
  handle: async (
    { params: { userId }, query: { role: newRole } },
    { read, access: { scope, role: ownRole }, principal },
  ) => {
    requirePreviewAccess({ ...principal, role: ownRole }, userId);
    return presentOffboarding(
      await read((db) =>
        inWorkspace(db, scope, (trx) => previewOffboarding(trx, scope, { userId, role: newRole })),
      ),
    );
  },
});
