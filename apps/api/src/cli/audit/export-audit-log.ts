import { openAsOperator } from "@latchkey/auth/workspace-access";
import { auditActions } from "@latchkey/db/audit-actions";
import { encodeId } from "@latchkey/db/ids";
import { enterWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { readAuditLog } from "../../domain/audit-log.ts";
import { recordAuditExport } from "../../domain/instance-log.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { auditAction } from "../../presenters/audit-event.ts";
import { exportFormats, formatAuditLog } from "../../presenters/audit-export.ts";
import { commandOrigin } from "../command-origin.ts";
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
  perform: async ({ db }, { workspace, format, actor, target, from, to, action }) => {
    const scope = openAsOperator(workspace);
    // An ID can be that of a service account, or of a user who was deleted.
    const actorUserId = actor && ("id" in actor ? actor.id : (await getAccount(db, actor)).id);
    const filter = { from, to, action, actorUserId, targetId: target?.id };
    const details = {
      format,
      ...(from && { from: from.toISOString() }),
      ...(to && { to: to.toISOString() }),
      ...(actorUserId && { actor: encodeId("user", actorUserId) }),
      ...(action && { action }),
      ...(target && { target: target.text }),
    };
    await db.transaction().execute(async (trx) => {
      await getWorkspaceSummary(trx, workspace); // Reports a missing workspace instead of printing nothing.
      await recordAuditExport(await enterWorkspace(trx, scope), scope, commandOrigin, details);
    });
    const pages = readAuditLog(
      (work) => db.connection().execute(work),
      { scope, filter },
      // A deleted workspace still has events until they are purged.
      async (reader) => {
        await reader.transaction().execute((trx) => getWorkspaceSummary(trx, workspace));
      },
    );
    return { kind: "text", chunks: formatAuditLog(pages, format) };
  },
});
