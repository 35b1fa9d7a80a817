import { listOperatorIds } from "@latchkey/db/operators";
import type { Db } from "@latchkey/db/schema";
import { findUser, type User } from "@latchkey/db/users";
import { z } from "zod";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { presentUser, userView } from "../users/user-view.ts";

export const listOperatorsTask = defineTask({
  input: z.strictObject({}),
  perform: ({ db }) =>
    listOf(readOperators(db), { present: presentUser, view: userView, emptyText: "No operators." }),
});

async function* readOperators(db: Db): AsyncGenerator<User> {
  for (const id of await listOperatorIds(db)) {
    const user = await findUser(db, id);
    if (user) yield user;
  }
}
