import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { grantOperator, revokeOperator } from "../../domain/operators.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { presentUser, userView } from "../users/user-view.ts";
import { userReference } from "../values.ts";

function defineChange(change: typeof grantOperator) {
  return defineTask({
    input: z.strictObject({ user: userReference }),
    perform: async ({ db }, { user }) => {
      const { id } = await getAccount(db, user);
      await db.transaction().execute((trx) => change(trx, id, commandOrigin));
      return itemOf(presentUser(await getAccount(db, { id })), userView);
    },
  });
}

export const grantOperatorTask = defineChange(grantOperator);
export const revokeOperatorTask = defineChange(revokeOperator);
