import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { deleteWebhook } from "../../domain/webhooks.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { webhookId, workspaceId } from "../values.ts";

export const deleteWebhookTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, id: webhookId }),
  perform: async ({ db }, { workspace, id }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    await db.transaction().execute((trx) => deleteWebhook(trx, edit, id, undefined));
    const deleted = { workspaceId: encodeId("workspace", workspace), id: encodeId("webhook", id) };
    return itemOf(deleted, [{ label: "Deleted", text: (ids) => ids.id }]);
  },
});
