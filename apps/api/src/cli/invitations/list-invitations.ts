import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { listEveryInvitation } from "../../domain/invitations.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { invitationView, presentInvitationOf } from "./invitation-view.ts";

export const listInvitationsTask = defineTask({
  input: z.strictObject({ workspace: workspaceId }),
  perform: async ({ db }, { workspace }) => {
    await db.transaction().execute((trx) => getWorkspaceSummary(trx, workspace)); // Reports a missing workspace instead of printing an empty list.
    return listOf(listEveryInvitation(db, openAsOperator(workspace)), {
      present: (invitation) => presentInvitationOf(workspace, invitation),
      view: invitationView,
      emptyText: "No invitations.",
    });
  },
});
