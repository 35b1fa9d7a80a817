import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { setWebhookDisabled } from "../../domain/webhooks.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { webhookId, workspaceId } from "../values.ts";
import { presentWebhookOf, webhookView } from "./webhook-view.ts";

function createTask(isDisabled: boolean) {
  return defineTask({
    input: z.strictObject({ workspace: workspaceId, id: webhookId }),
    perform: async ({ db }, { workspace, id }) => {
      const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
      const webhook = await db.transaction().execute((trx) => setWebhookDisabled(trx, edit, id, isDisabled));
      return itemOf(presentWebhookOf(workspace, webhook), webhookView);
    },
  });
}

export const disableWebhookTask = createTask(true);
export const enableWebhookTask = createTask(false);
