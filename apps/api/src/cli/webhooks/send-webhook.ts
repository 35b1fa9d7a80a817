import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { redeliver, testWebhook } from "../../domain/webhook-messages.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { deliveryId, webhookId, workspaceId } from "../values.ts";
import { deliveryView, presentDeliveryOf } from "./webhook-view.ts";

export const testWebhookTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, id: webhookId }),
  perform: async ({ db }, { workspace, id }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const delivery = await db.transaction().execute((trx) => testWebhook(trx, edit, id));
    return itemOf(presentDeliveryOf(workspace, delivery), deliveryView);
  },
});

export const redeliverTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, id: webhookId, delivery: deliveryId }),
  perform: async ({ db }, { workspace, id: webhookId, delivery: id }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const delivery = await db.transaction().execute((trx) => redeliver(trx, edit, { webhookId, id }));
    return itemOf(presentDeliveryOf(workspace, delivery), deliveryView);
  },
});
