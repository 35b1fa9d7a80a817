import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { unlinkIdentities } from "../../domain/linked-identity.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";
import { presentUser, userView } from "./user-view.ts";

export const unlinkIdentityTask = defineTask({
  input: z.strictObject({ user: userReference }),
  perform: async ({ db }, { user }) => {
    const account = await getAccount(db, user);
    await db.transaction().execute((trx) => unlinkIdentities(trx, account.id, commandOrigin));
    return itemOf(presentUser(account), userView);
  },
});
