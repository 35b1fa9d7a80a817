import { z } from "zod";
import { revokeOldSecrets } from "../../domain/api-key-secrets.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { keyId } from "../values.ts";
import { findEdit } from "./key-edit.ts";
import { keyView, presentOwnedKey } from "./key-view.ts";

export const revokeOldSecretsTask = defineTask({
  input: z.strictObject({ id: keyId }),
  perform: async ({ db }, { id }) => {
    const edit = await findEdit(db, id);
    const apiKey = await db.transaction().execute((trx) => revokeOldSecrets(trx, edit));
    return itemOf(presentOwnedKey({ ...apiKey, userId: edit.userId }), keyView);
  },
});
