import { z } from "zod";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { keyId } from "../values.ts";
import { getOwnedKey } from "./key-edit.ts";
import { keyView, presentOwnedKey } from "./key-view.ts";

export const showKeyTask = defineTask({
  input: z.strictObject({ id: keyId }),
  perform: async ({ db }, { id }) => itemOf(presentOwnedKey(await getOwnedKey(db, id)), keyView),
});
