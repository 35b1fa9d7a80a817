import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { createWorkspace, getWorkspaceSummary } from "../../domain/workspaces.ts";
import { workspaceName } from "../../fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";
import { presentWorkspace, workspaceView } from "./workspace-view.ts";

export const createWorkspaceTask = defineTask({
  input: z.strictObject({ owner: userReference, name: workspaceName }),
  perform: async ({ db, quotas }, { owner, name }) => {
    const { id: ownerId } = await getAccount(db, owner);
    const created = await db.transaction().execute(async (trx) => {
      const { id } = await createWorkspace(trx, { name, ownerId, origin: commandOrigin }, quotas);
      return await getWorkspaceSummary(trx, id);
    });
    return itemOf(presentWorkspace(created), workspaceView);
  },
});
