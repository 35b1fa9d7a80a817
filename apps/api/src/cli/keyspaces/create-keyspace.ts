import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { createKeyspace } from "../../domain/keyspaces.ts";
import { newKeyspaceFields } from "../../keyspace-fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";
import { keyspaceView, presentKeyspaceOf } from "./keyspace-view.ts";

const { name, prefix, environment } = newKeyspaceFields;
/** Keys have no defaults; a keyspace gets them in the web app or through the open API. */
const withoutDefaults = {
  defaultLifetimeDays: null,
  defaultPermissions: [],
  defaultLimits: [],
  defaultCredits: null,
};

export const createKeyspaceTask = defineTask({
  input: z.strictObject({ workspace: workspaceId, name, prefix, environment }),
  perform: async ({ db, quotas }, { workspace, ...fields }) => {
    const edit = { scope: openAsOperator(workspace), origin: commandOrigin };
    const keyspace = await db
      .transaction()
      .execute((trx) => createKeyspace(trx, edit, { ...withoutDefaults, ...fields }, quotas));
    return itemOf(presentKeyspaceOf(workspace, keyspace), keyspaceView);
  },
});
