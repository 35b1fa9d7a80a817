import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { getKeyOwner } from "../../domain/accounts.ts";
import { replaceActiveKeys } from "../../domain/offboarding.ts";
import { serviceAccountName } from "../../fields.ts";
import { presentReplacementKey } from "../../presenters/affected-key.ts";
import { commandOrigin } from "../command-origin.ts";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference, workspaceId } from "../values.ts";

export const replaceKeysTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, user: userReference, name: serviceAccountName }),
  perform: async ({ db, quotas }, { workspace, user, name }) => {
    const { id: userId } = await getKeyOwner(db, user);
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const { account, keys } = await db
      .transaction()
      .execute((trx) => replaceActiveKeys(trx, edit, { userId, name }, quotas));
    const serviceAccountId = encodeId("user", account.userId);
    return listOf(keys, {
      present: (key) => ({ ...presentReplacementKey(key), serviceAccountId }),
      view: [
        { label: "Replaced", text: ({ replacedId }) => replacedId },
        { label: "ID", text: ({ id }) => id },
        { label: "Service account", text: (key) => key.serviceAccountId },
        { label: "Key", text: ({ key }) => key },
        { label: "Name", text: (key) => key.name },
      ],
      emptyText: "No key was replaced.",
      hasSecrets: true,
    });
  },
});
