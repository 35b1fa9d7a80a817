import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { deleteServiceAccount } from "../../domain/service-accounts.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { serviceAccountId } from "../values.ts";
import { findServiceAccountEdit } from "./service-account-edit.ts";

export const deleteServiceAccountTask = defineTask({
  input: z.strictObject({ id: serviceAccountId }),
  perform: async ({ db }, { id: userId }) => {
    const { edit } = await findServiceAccountEdit(db, userId);
    await db.transaction().execute((trx) => deleteServiceAccount(trx, edit, { userId }));
    return itemOf({ userId: encodeId("user", userId) }, [{ label: "Deleted", text: (ids) => ids.userId }]);
  },
});
