import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { resendInvitation } from "../../domain/invitations.ts";
import { commandOrigin } from "../command-origin.ts";
import { defineTask } from "../task.ts";
import { invitationId, workspaceId } from "../values.ts";
import { sentInvitationResult } from "./invitation-view.ts";

export const resendInvitationTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, id: invitationId }),
  perform: async ({ db, quotas, baseUrl }, { workspace, id }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const options = { quotas, baseUrl, sendsEmail: false }; // The operator gets the link.
    const sent = await db.transaction().execute((trx) => resendInvitation(trx, edit, id, options));
    return sentInvitationResult(workspace, sent);
  },
});
