import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { createInvitation } from "../../domain/invitations.ts";
import { email } from "../../fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { role, workspaceId } from "../values.ts";
import { invitationView, presentInvitationOf } from "./invitation-view.ts";

export const createInvitationTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, email, role }),
  perform: async ({ db, quotas, baseUrl }, { workspace, email, role }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const terms = { quotas, baseUrl, sendsEmail: false }; // The operator gets the link.
    const { invitation, url = "" } = await db
      .transaction()
      .execute((trx) => createInvitation(trx, edit, { email, role }, terms));
    const item = { ...presentInvitationOf(workspace, invitation), url };
    return itemOf(item, [...invitationView, { label: "URL", text: (created: typeof item) => created.url }]);
  },
});
