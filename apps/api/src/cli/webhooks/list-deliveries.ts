import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { listEveryDelivery } from "../../domain/webhook-messages.ts";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { delivery } from "../../presenters/webhook.ts";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { webhookId, workspaceId } from "../values.ts";
import { deliveryView, presentDeliveryOf } from "./webhook-view.ts";

export const listDeliveriesTask = defineTask({
  input: z.strictObject({
    workspace: workspaceId,
    id: webhookId,
    status: z.enum(delivery.shape.status.options, "Expected pending, succeeded or failed.").optional(),
  }),
  perform: async ({ db }, { workspace, id, status }) => {
    await db.transaction().execute((trx) => getWorkspaceSummary(trx, workspace)); // Reports a missing workspace.
    return listOf(listEveryDelivery(db, openAsOperator(workspace), { webhookId: id, status }), {
      present: (shown) => presentDeliveryOf(workspace, shown),
      view: deliveryView,
      emptyText: "No deliveries.",
    });
  },
});
