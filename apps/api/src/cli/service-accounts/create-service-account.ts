import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { createServiceAccount } from "../../domain/service-accounts.ts";
import { serviceAccountName } from "../../fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { serviceAccountRole, workspaceId } from "../values.ts";
import { presentServiceAccountOf, serviceAccountView } from "./service-account-view.ts";

export const createServiceAccountTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, name: serviceAccountName, role: serviceAccountRole }),
  perform: async ({ db, quotas }, { workspace, ...account }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const created = await db.transaction().execute((trx) => createServiceAccount(trx, edit, account, quotas));
    return itemOf(presentServiceAccountOf(workspace, created), serviceAccountView);
  },
});
