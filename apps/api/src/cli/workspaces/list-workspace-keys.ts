import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { listEveryWorkspaceKey } from "../../domain/key-policies.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { presentWorkspaceKey } from "../../presenters/workspace-key.ts";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { workspaceKeyView } from "./key-policy-view.ts";

export const listWorkspaceKeysTask = defineTask({
  input: z.strictObject({ id: workspaceId }),
  perform: async ({ db }, { id }) => {
    await db.transaction().execute((trx) => getWorkspaceSummary(trx, id)); // Reports a missing workspace instead of printing an empty list.
    return listOf(listEveryWorkspaceKey(db, openAsOperator(id)), {
      present: presentWorkspaceKey,
      view: workspaceKeyView,
      emptyText: "No API keys.",
    });
  },
});
