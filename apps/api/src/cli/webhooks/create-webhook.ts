import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { createWebhook } from "../../domain/webhooks.ts";
import { newWebhookFields } from "../../webhook-fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { webhookActions } from "./webhook-actions.ts";
import { readWebhookOptions } from "./webhook-options.ts";
import { webhookSecretResult } from "./webhook-view.ts";

const { url, description } = newWebhookFields;

export const createWebhookTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, url, description, action: webhookActions.optional() }),
  perform: async (context, { workspace, action: actions = null, ...fields }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const options = await readWebhookOptions(context);
    const created = await context.db
      .transaction()
      .execute((trx) => createWebhook(trx, edit, { ...fields, actions }, options));
    return webhookSecretResult(workspace, created);
  },
});
