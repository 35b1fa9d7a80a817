import { z } from "zod";
import { revokeOldSecrets } from "../../domain/issued-key-rotation.ts";
import { presentIssuedKey } from "../../presenters/issued-key.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { issuedKeyId } from "../values.ts";
import { findChosenKeys } from "./chosen-keys.ts";
import { issuedKeyView } from "./issued-key-view.ts";

export const revokeOldSecretsTask = defineTask({
  input: z.strictObject({ id: issuedKeyId }),
  perform: async ({ db }, { id }) => {
    const { edit, keyspaceId } = await findChosenKeys(db, { ids: [id] });
    const issuedKey = await db
      .transaction()
      .execute((trx) => revokeOldSecrets(trx, edit, { keyspaceId, id }, undefined));
    return itemOf(presentIssuedKey(issuedKey), issuedKeyView);
  },
});
