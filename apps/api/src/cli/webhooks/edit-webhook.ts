import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { changeWebhook } from "../../domain/webhooks.ts";
import { webhookChanges } from "../../webhook-fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { webhookId, workspaceId } from "../values.ts";
import { webhookActions } from "./webhook-actions.ts";
import { presentWebhookOf, webhookView } from "./webhook-view.ts";

const { url, description } = webhookChanges;

export const editWebhookTask = defineTask({
  input: z
    .strictObject({
      workspace: workspaceId,
      id: webhookId,
      url,
      description,
      action: webhookActions.optional(),
      allActions: z.literal(true).optional(),
    })
    .refine(
      ({ workspace: _workspace, id: _id, ...changes }) => Object.keys(changes).length > 0,
      "Nothing to change. Specify at least one option that changes the webhook.",
    ),
  perform: async ({ db, env }, { workspace, id, action, allActions, ...fields }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const options = { allowsPlainWebhooks: env.webhookNetworks.length > 0 };
    const actions = allActions ? null : action;
    const change = { ...fields, ...(actions !== undefined && { actions }), versions: undefined };
    const changed = await db.transaction().execute((trx) => changeWebhook(trx, edit, id, change, options));
    return itemOf(presentWebhookOf(workspace, changed), webhookView);
  },
});
