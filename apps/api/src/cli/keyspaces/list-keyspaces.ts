import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { listEveryKeyspace } from "../../domain/keyspaces.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { keyspaceView, presentKeyspaceOf } from "./keyspace-view.ts";

export const listKeyspacesTask = defineTask({
  input: z.strictObject({ workspace: workspaceId }),
  perform: async ({ db }, { workspace }) => {
    await db.transaction().execute((trx) => getWorkspaceSummary(trx, workspace)); // Reports a missing workspace instead of printing an empty list.
    return listOf(listEveryKeyspace(db, openAsOperator(workspace)), {
      present: (keyspace) => presentKeyspaceOf(workspace, keyspace),
      view: keyspaceView,
      emptyText: "No keyspaces.",
    });
  },
});
