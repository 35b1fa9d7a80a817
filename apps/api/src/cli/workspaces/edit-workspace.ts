import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { getWorkspaceSummary, update } from "../../domain/workspaces.ts";
import { retention, workspaceFieldChanges } from "../../workspace-fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { presentSummary, workspaceView } from "./workspace-view.ts";

const days = z
  .string()
  .regex(/^(none|\d{1,4})$/, "Expected a number of days, or none.")
  .transform((text) => (text === "none" ? null : Number(text)))
  .pipe(retention)
  .optional();

export const editWorkspaceTask = defineTask({
  input: z
    .strictObject({ id: workspaceId, ...workspaceFieldChanges, auditRetentionDays: days })
    .refine(
      ({ id: _id, ...fields }) => Object.keys(fields).length > 0,
      "Nothing to change. Give at least one option that changes the workspace.",
    ),
  perform: async ({ db }, { id, ...fields }) => {
    const edit = { scope: openAsOperator(id), origin: commandOrigin };
    const edited = await db.transaction().execute(async (trx) => {
      await update(trx, edit, { fields, versions: undefined });
      return await getWorkspaceSummary(trx, id);
    });
    return itemOf(presentSummary(edited), workspaceView);
  },
});
