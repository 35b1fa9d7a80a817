import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { getWorkspaceSummary, rename } from "../../domain/workspaces.ts";
import { workspaceName } from "../../fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { presentWorkspace, workspaceView } from "./workspace-view.ts";

export const renameWorkspaceTask = defineTask({
  input: z.strictObject({ id: workspaceId, name: workspaceName }),
  perform: async ({ db }, { id, name }) => {
    const edit = { scope: openAsOperator(id), origin: commandOrigin };
    const renamed = await db.transaction().execute(async (trx) => {
      await rename(trx, edit, { name, versions: undefined });
      return await getWorkspaceSummary(trx, id);
    });
    return itemOf(presentWorkspace(renamed), workspaceView);
  },
});
