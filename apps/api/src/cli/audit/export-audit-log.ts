import { openAsOperator } from "@latchkey/auth/workspace-access";
import { auditActions } from "@latchkey/db/audit-actions";
import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { readAuditLog } from "../../domain/audit-log.ts";
import { getWorkspaceSummary } from "../../domain/workspaces.ts";
import { auditAction } from "../../presenters/audit-event.ts";
import { exportFormats, formatAuditLog } from "../../presenters/audit-export.ts";
import { defineTask } from "../task.ts";
import { auditTarget, time, userReference, workspaceId } from "../values.ts";

export const exportAuditLogTask = defineTask({
  input: z.strictObject({
    workspace: workspaceId,
    format: z.enum(exportFormats, "Expected csv or ndjson."),
    from: time.optional(),
    to: time.optional(),
    actor: userReference.optional(),
    action: z
      .enum(auditAction.options, `Expected one of ${Object.keys(auditActions).join(", ")}.`)
      .optional(),
    target: auditTarget.optional(),
  }),
  perform: async ({ db }, { workspace, format, actor, target, ...filter }) => {
    await db.transaction().execute((trx) => getWorkspaceSummary(trx, workspace)); // Reports a missing workspace instead of printing nothing.
    const actorUserId = actor && (await getAccount(db, actor)).id;
    const query = {
      scope: openAsOperator(workspace),
      filter: { ...filter, actorUserId, targetId: target },
    };
    const pages = readAuditLog(
      (work) => db.connection().execute(work),
      query,
      async () => undefined,
    );
    return { kind: "text", chunks: formatAuditLog(pages, format) };
  },
});
