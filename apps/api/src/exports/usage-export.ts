import { z } from "zod";
import { usageGroupings } from "../domain/keyspace-usage.ts";
import { readUsageExport } from "../domain/usage-export.ts";
import { keyspaceId, workspaceId } from "../fields.ts";
import { defineExport } from "../http/export-mount.ts";
import { areValidBuckets, invalidBuckets, usageBuckets } from "../key-fields.ts";
import { exportTypes } from "../presenters/audit-export.ts";
import { formatUsage, usageFileName } from "../presenters/usage-export.ts";

/** The verifications of a keyspace, or of all keyspaces of a workspace, by group and bucket. */
export const usageExport = defineExport({
  path: "/exports/verifications",
  permission: "keys:read",
  body: z
    .strictObject({
      workspaceId,
      keyspaceId: keyspaceId.nullable(),
      groupBy: z.enum(usageGroupings),
      ...usageBuckets,
    })
    .refine(areValidBuckets, invalidBuckets),
  open: ({ keyspaceId, groupBy, starts, to }, { scope, read, requireAccess }) => ({
    contentType: exportTypes.csv,
    name: usageFileName(groupBy, new Date()),
    chunks: formatUsage(
      readUsageExport(read, { scope, keyspaceId, groupBy, buckets: { starts, to } }, requireAccess),
      groupBy,
    ),
  }),
});
