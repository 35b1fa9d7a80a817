import { z } from "zod";
import { getKeyOwner } from "../../domain/accounts.ts";
import { listInstanceKeys, listOwnedKeys } from "../../domain/api-keys.ts";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";
import { keyView, presentOwnedKey } from "./key-view.ts";

export const listKeysTask = defineTask({
  input: z.strictObject({ user: userReference.optional() }),
  perform: async ({ db }, { user }) => {
    const keys = user ? listOwnedKeys(db, (await getKeyOwner(db, user)).id) : listInstanceKeys(db);
    return listOf(keys, { present: presentOwnedKey, view: keyView, emptyText: "No API keys." });
  },
});
