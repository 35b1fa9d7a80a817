import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { deleteIssuedKey } from "../../domain/issued-keys.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { issuedKeyId } from "../values.ts";
import { findIssuedKeyEdit } from "./find-keyspace.ts";

export const deleteIssuedKeyTask = defineTask({
  input: z.strictObject({ id: issuedKeyId }),
  perform: async ({ db }, { id }) => {
    const { edit, path } = await findIssuedKeyEdit(db, id);
    await db.transaction().execute((trx) => deleteIssuedKey(trx, edit, path, undefined));
    return itemOf({ id: encodeId("issuedKey", id) }, [{ label: "Deleted", text: (deleted) => deleted.id }]);
  },
});
