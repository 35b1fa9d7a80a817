import type { Db } from "@latchkey/db/schema";
import { z } from "zod";
import { disableAccount, enableAccount, getAccount } from "../../domain/accounts.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";
import { presentUser, userView } from "./user-view.ts";

type Change = typeof disableAccount;

function defineChange(change: Change) {
  return defineTask({
    input: z.strictObject({ user: userReference }),
    perform: async ({ db }, { user }) => itemOf(await apply(db, change, user), userView),
  });
}

async function apply(db: Db, change: Change, user: Parameters<Change>[1]) {
  const id = await change(db, user);
  return presentUser(await getAccount(db, { id }));
}

export const disableUserTask = defineChange(disableAccount);
export const enableUserTask = defineChange(enableAccount);
