import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { revokeInvitation } from "../../domain/invitations.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { invitationId, workspaceId } from "../values.ts";

export const revokeInvitationTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, id: invitationId }),
  perform: async ({ db }, { workspace, id }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    await db.transaction().execute((trx) => revokeInvitation(trx, edit, id));
    const revoked = { workspaceId: encodeId("workspace", workspace), id: encodeId("invitation", id) };
    return itemOf(revoked, [{ label: "Revoked", text: (ids) => ids.id }]);
  },
});
