import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { changeAccountEmail } from "../../domain/email-change.ts";
import { email } from "../../fields.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";
import { presentUser, userView } from "./user-view.ts";

export const changeEmailTask = defineTask({
  input: z.strictObject({ user: userReference, email }),
  perform: async ({ db }, { user, email }) => {
    const id = await changeAccountEmail(db, user, email, commandOrigin);
    return itemOf(presentUser(await getAccount(db, { id })), userView);
  },
});
