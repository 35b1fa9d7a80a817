import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { listEveryServiceAccount } from "../../domain/service-accounts.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { presentServiceAccountOf, serviceAccountView } from "./service-account-view.ts";

export const listServiceAccountsTask = defineTask({
  input: z.strictObject({ workspace: workspaceId }),
  perform: async ({ db }, { workspace }) => {
    await db.transaction().execute((trx) => getWorkspaceSummary(trx, workspace)); // Reports a missing workspace instead of printing an empty list.
    return listOf(listEveryServiceAccount(db, openAsOperator(workspace)), {
      present: (account) => presentServiceAccountOf(workspace, account),
      view: serviceAccountView,
      emptyText: "No service accounts.",
    });
  },
});
