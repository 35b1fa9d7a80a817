import { openAsOperator } from "@latchkey/auth/workspace-access";
import { getPolicy } from "@latchkey/db/api-key-policies";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { policyView, presentPolicyOf } from "./key-policy-view.ts";

export const showPolicyTask = defineTask({
  input: z.strictObject({ id: workspaceId }),
  perform: async ({ db }, { id }) => {
    await db.transaction().execute((trx) => getWorkspaceSummary(trx, id)); // Reports a missing workspace.
    const scope = openAsOperator(id);
    const policy = await inWorkspace(db, scope, (trx) => getPolicy(trx, scope));
    return itemOf(presentPolicyOf(id, policy), policyView);
  },
});
