import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { listEveryMember } from "../../domain/members.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { memberView, presentMemberOf } from "./member-view.ts";

export const listMembersTask = defineTask({
  input: z.strictObject({ workspace: workspaceId }),
  perform: async ({ db }, { workspace }) => {
    await db.transaction().execute((trx) => getWorkspaceSummary(trx, workspace)); // Reports a missing workspace instead of printing an empty list.
    return listOf(listEveryMember(db, openAsOperator(workspace)), {
      present: (member) => presentMemberOf(workspace, member),
      view: memberView,
      emptyText: "No members.",
    });
  },
});
