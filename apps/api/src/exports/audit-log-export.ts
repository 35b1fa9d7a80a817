import { z } from "zod";
import { auditFilterInput, toAuditFilter } from "../audit-filter.ts";
import { readAuditLog } from "../domain/audit-log.ts";
import { workspaceId } from "../fields.ts";
import { defineExport } from "../http/export-mount.ts";
import { exportFileName, exportFormats, exportTypes, formatAuditLog } from "../presenters/audit-export.ts";

/** The events of an audit log that match a filter. */
export const auditLogExport = defineExport({
  path: "/exports/audit-events",
  permission: "audit:read",
  body: z.strictObject({ workspaceId, format: z.enum(exportFormats), ...auditFilterInput }),
  open: (input, { scope, read, requireAccess }) => ({
    contentType: exportTypes[input.format],
    name: exportFileName(input.format, new Date()),
    chunks: formatAuditLog(
      readAuditLog(read, { scope, filter: toAuditFilter(input) }, requireAccess),
      input.format,
    ),
  }),
});
