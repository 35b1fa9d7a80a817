import { z } from "zod";
import { changeIssuedKey } from "../../domain/issued-keys.ts";
import { presentIssuedKey } from "../../presenters/issued-key.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { issuedKeyId } from "../values.ts";
import { findIssuedKeyEdit } from "./find-keyspace.ts";
import { issuedKeyView } from "./issued-key-view.ts";

function defineChange(isDisabled: boolean) {
  return defineTask({
    input: z.strictObject({ id: issuedKeyId }),
    perform: async ({ db, quotas }, { id }) => {
      const { edit, path } = await findIssuedKeyEdit(db, id);
      const changed = await db
        .transaction()
        .execute((trx) => changeIssuedKey(trx, edit, path, { isDisabled, versions: undefined }, quotas));
      return itemOf(presentIssuedKey(changed), issuedKeyView);
    },
  });
}

export const disableIssuedKeyTask = defineChange(true);
export const enableIssuedKeyTask = defineChange(false);
