import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { KeyId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import { enterWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import type { Edit } from "../../domain/enter-for-edit.ts";
import { blockWorkspaceKeys, getWorkspaceKey, unblockWorkspaceKeys } from "../../domain/key-policies.ts";
import { getWorkspaceAsOperator } from "../../domain/workspaces.ts";
import { presentWorkspaceKey } from "../../presenters/workspace-key.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { keyId, workspaceId } from "../values.ts";
import { viewKeysOf } from "../workspaces/key-policy-view.ts";

function defineChange(change: (trx: Trx, edit: Edit, ids: readonly KeyId[]) => Promise<void>) {
  return defineTask({
    input: z.strictObject({ id: keyId, workspace: workspaceId }),
    perform: async ({ db }, { id, workspace }) => {
      const scope = openAsOperator(workspace);
      const changed = await db.transaction().execute(async (trx) => {
        await change(trx, { scope, origin: commandOrigin }, [id]);
        const workspaceTrx = await enterWorkspace(trx, scope);
        return {
          key: await getWorkspaceKey(workspaceTrx, scope, id),
          workspace: await getWorkspaceAsOperator(workspaceTrx, scope),
        };
      });
      return itemOf(presentWorkspaceKey(changed.key), viewKeysOf(changed.workspace));
    },
  });
}

export const blockKeyTask = defineChange(blockWorkspaceKeys);
export const unblockKeyTask = defineChange(unblockWorkspaceKeys);
