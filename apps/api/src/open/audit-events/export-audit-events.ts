import { z } from "zod";
import { toAuditFilter } from "../../audit-filter.ts";
import { readAuditLog } from "../../domain/audit-log.ts";
import { requireExportAccess } from "../../domain/require-export-access.ts";
import { defineFileEndpoint } from "../../http/endpoint.ts";
import { exportFileName, exportFormats, exportTypes, formatAuditLog } from "../../presenters/audit-export.ts";
import { workspaceParams } from "../../schemas.ts";
import { auditFilterQuery } from "./audit-filter-query.ts";

const query = z.strictObject({
  format: z.enum(exportFormats).default("ndjson").meta({
    description:
      "`ndjson`: each line is an event as in the list of audit events. `csv`: a header with the field names, such as `actor.userKind`, then one row per event. Later versions add columns at the end. A cell that starts like a formula, and text like a formula after a semicolon, vertical bar, tab or line break, is prefixed with an apostrophe.",
  }),
  ...auditFilterQuery,
});

export const exportAuditEvents = defineFileEndpoint({
  path: "/workspaces/:workspaceId/audit-events/export",
  operationId: "exportAuditEvents",
  summary: "Export audit events",
  description:
    "Streams all matching changes to a workspace that were made before the request, newest first. The request counts as one use.",
  access: { workspace: "audit:read" },
  request: { params: workspaceParams, query },
  response: {
    status: 200,
    file: {
      "application/x-ndjson": '{"id":"evt_01h455vb4pex5vsknk084sn02q","action":"member.removed"}\n',
      "text/csv":
        "id,occurredAt,action\r\nevt_01h455vb4pex5vsknk084sn02q,2026-03-01T09:30:00.000Z,member.removed\r\n",
    },
  },
  errors: [],
  open: ({ query }, { read, origin, now, access: { scope } }) => {
    const pages = readAuditLog(read, { scope, filter: toAuditFilter(query) }, (db) =>
      requireExportAccess(db, scope, { ...origin, permission: "audit:read" }),
    );
    return {
      contentType: exportTypes[query.format],
      name: exportFileName(query.format, now),
      chunks: formatAuditLog(pages, query.format),
    };
  },
});
