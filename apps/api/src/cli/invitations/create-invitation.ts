import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { createInvitation } from "../../domain/invitations.ts";
import { email } from "../../fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { defineTask } from "../task.ts";
import { role, workspaceId } from "../values.ts";
import { sentInvitationResult } from "./invitation-view.ts";

export const createInvitationTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, email, role }),
  perform: async ({ db, quotas, baseUrl }, { workspace, email, role }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const options = { quotas, baseUrl, sendsEmail: false }; // The operator gets the link.
    const sent = await db
      .transaction()
      .execute((trx) => createInvitation(trx, edit, { email, role }, options));
    return sentInvitationResult(workspace, sent);
  },
});
