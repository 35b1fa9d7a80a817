import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { getKeyOwner } from "../../domain/accounts.ts";
import { removeMemberWithKeys } from "../../domain/offboarding.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference, workspaceId } from "../values.ts";
import { previewAffectedKeys } from "./preview-affected-keys.ts";

export const removeMemberTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, user: userReference, preview: z.boolean().optional() }),
  perform: async ({ db }, { workspace, user, preview }) => {
    const { id: userId } = await getKeyOwner(db, user);
    if (preview) return await previewAffectedKeys(db, workspace, { userId });
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const stoppedKeys = await db.transaction().execute((trx) => removeMemberWithKeys(trx, edit, { userId }));
    const removed = {
      workspaceId: encodeId("workspace", workspace),
      userId: encodeId("user", userId),
      stoppedKeys,
    };
    return itemOf(removed, [
      { label: "Removed", text: (ids) => `${ids.userId} from ${ids.workspaceId}` },
      { label: "Keys that lost access", text: (ids) => String(ids.stoppedKeys) },
    ]);
  },
});
