import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { removeMember } from "../../domain/members.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference, workspaceId } from "../values.ts";

export const removeMemberTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, user: userReference }),
  perform: async ({ db }, { workspace, user }) => {
    const { id: userId } = await getAccount(db, user);
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    await db.transaction().execute((trx) => removeMember(trx, edit, { userId }));
    const removed = { workspaceId: encodeId("workspace", workspace), userId: encodeId("user", userId) };
    return itemOf(removed, [{ label: "Removed", text: (ids) => `${ids.userId} from ${ids.workspaceId}` }]);
  },
});
