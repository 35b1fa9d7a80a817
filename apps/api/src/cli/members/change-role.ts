import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { getKeyOwner } from "../../domain/accounts.ts";
import { changeMemberRole } from "../../domain/members.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { role, userReference, workspaceId } from "../values.ts";
import { memberView, presentMemberOf } from "./member-view.ts";
import { previewAffectedKeys } from "./preview-affected-keys.ts";

export const changeRoleTask = defineTask({
  input: z.strictObject({
    workspace: workspaceId,
    user: userReference,
    role,
    preview: z.boolean().optional(),
  }),
  perform: async ({ db, quotas }, { workspace, user, role, preview }) => {
    const { id: userId } = await getKeyOwner(db, user);
    if (preview) return await previewAffectedKeys(db, workspace, { userId, role });
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const change = { userId, role, versions: undefined };
    const changed = await db.transaction().execute((trx) => changeMemberRole(trx, edit, change, quotas));
    return itemOf(presentMemberOf(workspace, changed), memberView);
  },
});
