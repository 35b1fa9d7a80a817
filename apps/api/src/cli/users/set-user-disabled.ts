import { z } from "zod";
import { disableAccount, enableAccount, getAccount } from "../../domain/accounts.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";
import { presentUser, userView } from "./user-view.ts";

const input = z.strictObject({ user: userReference });

export const disableUserTask = defineTask({
  input,
  perform: async ({ db }, { user }) => {
    const { id } = await getAccount(db, user);
    await disableAccount((work) => db.transaction().execute(work), id, commandOrigin);
    return itemOf(presentUser(await getAccount(db, { id })), userView);
  },
});

export const enableUserTask = defineTask({
  input,
  perform: async ({ db }, { user }) => {
    const { id } = await getAccount(db, user);
    await db.transaction().execute((trx) => enableAccount(trx, id, commandOrigin));
    return itemOf(presentUser(await getAccount(db, { id })), userView);
  },
});
