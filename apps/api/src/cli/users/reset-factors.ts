import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { resetSecondFactors } from "../../domain/second-factors.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";
import { presentUser, userView } from "./user-view.ts";

export const resetFactorsTask = defineTask({
  input: z.strictObject({ user: userReference }),
  perform: async ({ db }, { user }) => {
    const id = await resetSecondFactors(db, user, commandOrigin);
    return itemOf(presentUser(await getAccount(db, { id })), userView);
  },
});
