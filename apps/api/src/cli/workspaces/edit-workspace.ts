import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { update } from "../../domain/workspaces.ts";
import { retention, workspaceFieldChanges } from "../../workspace-fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { previewSecondFactor } from "./preview-second-factor.ts";
import { presentSummary, workspaceView } from "./workspace-view.ts";

const days = z
  .string()
  .regex(/^(none|\d{1,4})$/, "Expected a number of days, or none.")
  .transform((text) => (text === "none" ? null : Number(text)))
  .pipe(retention)
  .optional();

/** Changes a workspace, or with `--preview`, lists what a required second factor would stop. */
export const editWorkspaceTask = defineTask({
  input: z
    .strictObject({
      id: workspaceId,
      ...workspaceFieldChanges,
      auditRetentionDays: days,
      preview: z.boolean().optional(),
    })
    .refine(
      ({ id: _id, preview: _preview, ...fields }) => Object.keys(fields).length > 0,
      "Nothing to change. Specify at least one option that changes the workspace.",
    )
    .refine(
      ({ id: _id, preview, ...fields }) =>
        !preview || (fields.requiresSecondFactor === true && Object.keys(fields).length === 1),
      "--preview lists what a required second factor would stop. Specify it with --requires-second-factor and no other option.",
    ),
  perform: async ({ db }, { id, preview, ...fields }) => {
    if (preview) return await previewSecondFactor(db, id);
    const edit = { scope: openAsOperator(id), origin: commandOrigin };
    const edited = await db.transaction().execute(async (trx) => {
      await update(trx, edit, { fields, versions: undefined });
      return await getWorkspaceSummary(trx, id);
    });
    return itemOf(presentSummary(edited), workspaceView);
  },
});
