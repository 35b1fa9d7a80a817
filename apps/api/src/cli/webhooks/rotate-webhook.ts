import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { rotateWebhookSecret } from "../../domain/webhook-secrets.ts";
import { commandOrigin } from "../command-origin.ts";
import { defineTask } from "../task.ts";
import { overlap, webhookId, workspaceId } from "../values.ts";
import { readWebhookOptions } from "./webhook-options.ts";
import { webhookSecretResult } from "./webhook-view.ts";

export const rotateWebhookTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, id: webhookId, overlap }),
  perform: async (context, { workspace, id, overlap }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const options = await readWebhookOptions(context);
    const rotation = { overlapSeconds: overlap, versions: undefined };
    const rotated = await context.db
      .transaction()
      .execute((trx) => rotateWebhookSecret(trx, edit, id, rotation, options));
    return webhookSecretResult(workspace, rotated);
  },
});
