import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { getKeyOwner } from "../../domain/accounts.ts";
import { createKey } from "../../domain/api-key-edits.ts";
import { keyDescription, keyName } from "../../fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";
import { limitOption, restrictionOptions, toSettings } from "./key-restrictions.ts";
import { secretResult } from "./secret-result.ts";

export const createKeyTask = defineTask({
  input: z.strictObject({
    user: userReference,
    name: keyName,
    description: keyDescription,
    ...restrictionOptions,
    limit: limitOption.optional(),
  }),
  perform: async ({ db, quotas }, { user, name, description, ...options }) => {
    const { id: userId } = await getKeyOwner(db, user);
    const key = { userId, name, description, settings: toSettings(options), origin: commandOrigin };
    const { id, secret } = await db.transaction().execute((trx) => createKey(trx, key, quotas));
    return secretResult(encodeId("key", id), secret);
  },
});
