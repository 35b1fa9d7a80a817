import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { createWorkspace } from "../../domain/workspaces.ts";
import { newWorkspaceFields } from "../../workspace-fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";
import { presentSummary, workspaceView } from "./workspace-view.ts";

export const createWorkspaceTask = defineTask({
  input: z.strictObject({ owner: userReference, ...newWorkspaceFields }),
  perform: async ({ db, quotas }, { owner, ...fields }) => {
    const { id: ownerId } = await getAccount(db, owner);
    const created = await db.transaction().execute(async (trx) => {
      const { id } = await createWorkspace(trx, { ...fields, ownerId, origin: commandOrigin }, quotas);
      return await getWorkspaceSummary(trx, id);
    });
    return itemOf(presentSummary(created), workspaceView);
  },
});
