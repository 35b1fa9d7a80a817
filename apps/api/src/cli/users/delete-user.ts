import { encodeId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import { z } from "zod";
import { deleteAccount } from "../../domain/account-deletion.ts";
import { getAccount } from "../../domain/accounts.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";

export const deleteUserTask = defineTask({
  input: z.strictObject({ user: userReference, confirm: z.string() }),
  perform: async ({ db }, { user, confirm }) => {
    const { id: userId, email } = await getAccount(db, user);
    if (confirm !== email) {
      const message = `--confirm: ${JSON.stringify(confirm)} is not the email address of the user. Expected ${email}.`;
      throw new AppError("BAD_REQUEST", { message });
    }
    const transact: Parameters<typeof deleteAccount>[0]["transact"] = (work) =>
      db.transaction().execute(work);
    const { keyCount, deletedWorkspaces } = await deleteAccount({ userId, origin: commandOrigin, transact });
    const deleted = {
      id: encodeId("user", userId),
      email,
      keyCount,
      workspaces: deletedWorkspaces.map(({ id, name }) => ({ id: encodeId("workspace", id), name })),
    };
    return itemOf(deleted, [
      { label: "Deleted", text: (shown) => `${shown.id} (${shown.email})` },
      { label: "API keys", text: (shown) => String(shown.keyCount) },
      {
        label: "Workspaces",
        text: ({ workspaces }) => workspaces.map(({ name }) => name).join(", ") || "none",
      },
    ]);
  },
});
