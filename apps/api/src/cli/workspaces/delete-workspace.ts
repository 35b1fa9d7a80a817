import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import { z } from "zod";
import { getWorkspaceSummary } from "../../domain/workspace-summaries.ts";
import { remove } from "../../domain/workspaces.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { workspaceId } from "../values.ts";

export const deleteWorkspaceTask = defineTask({
  input: z.strictObject({ id: workspaceId, confirm: z.string() }),
  perform: async ({ db }, { id, confirm }) => {
    const edit = { scope: openAsOperator(id), origin: commandOrigin };
    await db.transaction().execute(async (trx) => {
      const { slug } = await getWorkspaceSummary(trx, id); // A slug never changes.
      if (confirm !== slug) {
        const message = `--confirm: ${JSON.stringify(confirm)} is not the slug of the workspace. Expected ${slug}.`;
        throw new AppError("BAD_REQUEST", { message });
      }
      await remove(trx, edit);
    });
    return itemOf({ id: encodeId("workspace", id) }, [{ label: "Deleted", text: (deleted) => deleted.id }]);
  },
});
