import { listAuditEvents as list } from "@latchkey/db/audit-events";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { instant } from "../../fields.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, toPage } from "../../lists.ts";
import { auditAction, auditEvent, presentAuditEvent } from "../../presenters/audit-event.ts";
import { userId, workspaceParams } from "../../schemas.ts";

const query = listQuery(["occurredAt"]).extend({
  sort: z
    .enum(["-occurredAt", "occurredAt"])
    .default("-occurredAt")
    .meta({ description: "A leading minus sorts in descending order." }),
  action: auditAction.optional().meta({ description: "Only events with this action." }),
  actorId: userId.optional().meta({ description: "Only changes made by this user." }),
  from: instant
    .optional()
    .meta({ description: "Only changes at this time or later.", example: "2026-03-01T00:00:00Z" }),
  to: instant
    .optional()
    .meta({ description: "Only changes before this time.", example: "2026-04-01T00:00:00Z" }),
});

export const listAuditEvents = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/audit-events",
  operationId: "listAuditEvents",
  summary: "List audit events",
  description: "Lists the changes to a workspace, newest first, each with its actor, API key and IP address.",
  access: { workspace: "audit:read" },
  request: { params: workspaceParams, query },
  response: { status: 200, schema: pageOf(auditEvent) },
  errors: [],
  handle: async ({ query }, { read, access: { scope } }) => {
    const { action, actorId, from, to } = query;
    const page = { ...readPage(query), filter: { action, actorUserId: actorId, from, to } };
    const rows = await read((db) => inWorkspace(db, scope, (trx) => list(trx, scope, page)));
    return toPage(rows, query, { present: presentAuditEvent, idOf: ({ id }) => id });
  },
});
