import { previewRetention } from "@latchkey/db/audit-retention";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { defineEndpoint } from "../../http/endpoint.ts";
import { presentRetentionPreview, retentionPreview } from "../../presenters/audit-retention.ts";
import { workspaceParams } from "../../schemas.ts";
import { retentionInQuery } from "../../workspace-fields.ts";

export const previewAuditRetention = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/audit-events/retention-preview",
  operationId: "previewAuditRetention",
  summary: "Preview an audit log retention",
  description:
    "Counts the events that would be deleted if the workspace kept its audit log for this number of days. Changes nothing.",
  access: { workspace: "workspace:delete" },
  request: { params: workspaceParams, query: z.strictObject({ days: retentionInQuery }) },
  response: {
    status: 200,
    description: "The events that would be deleted.",
    schema: retentionPreview,
  },
  errors: [],
  handle: async ({ query: { days } }, { read, access: { scope } }) =>
    presentRetentionPreview(
      await read((db) => inWorkspace(db, scope, (trx) => previewRetention(trx, scope, days))),
    ),
});
