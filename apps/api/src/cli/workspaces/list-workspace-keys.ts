import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { listEveryWorkspaceKey } from "../../domain/key-policies.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { presentWorkspaceKey } from "../../presenters/workspace-key.ts";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { viewKeysOf } from "./key-policy-view.ts";

export const listWorkspaceKeysTask = defineTask({
  input: z.strictObject({ id: workspaceId }),
  perform: async ({ db }, { id }) => {
    const workspace = await db.transaction().execute((trx) => getWorkspaceSummary(trx, id));
    return listOf(listEveryWorkspaceKey(db, openAsOperator(id)), {
      present: presentWorkspaceKey,
      view: viewKeysOf(workspace),
      emptyText: "No API keys.",
    });
  },
});
