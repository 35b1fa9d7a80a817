import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { listEveryWebhook } from "../../domain/webhooks.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { presentWebhookOf, webhookView } from "./webhook-view.ts";

export const listWebhooksTask = defineTask({
  input: z.strictObject({ workspace: workspaceId }),
  perform: async ({ db }, { workspace }) => {
    await db.transaction().execute((trx) => getWorkspaceSummary(trx, workspace)); // Reports a missing workspace instead of printing an empty list.
    return listOf(listEveryWebhook(db, openAsOperator(workspace)), {
      present: (webhook) => presentWebhookOf(workspace, webhook),
      view: webhookView,
      emptyText: "No webhooks.",
    });
  },
});
