import { listAuditEvents as list } from "@latchkey/db/audit-log";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { toAuditFilter } from "../../audit-filter.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { listQuery, pageOf, readPage, toPage } from "../../lists.ts";
import { auditEvent, presentAuditEvent } from "../../presenters/audit-event.ts";
import { workspaceParams } from "../../schemas.ts";
import { auditFilterQuery } from "./audit-filter-query.ts";

const query = listQuery(["occurredAt"]).extend({
  sort: z
    .enum(["-occurredAt", "occurredAt"])
    .default("-occurredAt")
    .meta({ description: "A leading minus sorts in descending order." }),
  ...auditFilterQuery,
});

export const listAuditEvents = defineEndpoint({
  method: "GET",
  path: "/workspaces/:workspaceId/audit-events",
  operationId: "listAuditEvents",
  summary: "List audit events",
  description: "Lists the changes to a workspace, newest first, each with its actor, API key and IP address.",
  access: { workspace: "audit:read" },
  request: { params: workspaceParams, query },
  response: { status: 200, description: "A page of audit events.", schema: pageOf(auditEvent) },
  errors: [],
  handle: async ({ query }, { read, access: { scope } }) => {
    const page = { ...readPage(query), filter: toAuditFilter(query) };
    const rows = await read((db) => inWorkspace(db, scope, (trx) => list(trx, scope, page)));
    return toPage(rows, query, { present: presentAuditEvent, idOf: ({ id }) => id });
  },
});
