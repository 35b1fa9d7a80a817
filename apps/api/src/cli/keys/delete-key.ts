import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { deleteKey } from "../../domain/api-key-edits.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { keyId } from "../values.ts";
import { findEdit } from "./key-edit.ts";

export const deleteKeyTask = defineTask({
  input: z.strictObject({ id: keyId }),
  perform: async ({ db }, { id }) => {
    const edit = await findEdit(db, id);
    await db.transaction().execute((trx) => deleteKey(trx, edit));
    return itemOf({ id: encodeId("key", id) }, [{ label: "Deleted", text: (deleted) => deleted.id }]);
  },
});
