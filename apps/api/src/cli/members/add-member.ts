import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { addMember } from "../../domain/members.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { role, userReference, workspaceId } from "../values.ts";
import { memberView, presentMemberOf } from "./member-view.ts";

export const addMemberTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, user: userReference, role }),
  perform: async ({ db, quotas }, { workspace, user, role }) => {
    const { id: userId } = await getAccount(db, user);
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const added = await db.transaction().execute((trx) => addMember(trx, edit, { userId, role }, quotas));
    return itemOf(presentMemberOf(workspace, added), memberView);
  },
});
