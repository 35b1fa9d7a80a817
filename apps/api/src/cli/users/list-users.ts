import { z } from "zod";
import { listAccounts } from "../../domain/accounts.ts";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { presentUser, userView } from "./user-view.ts";

export const listUsersTask = defineTask({
  input: z.strictObject({}),
  perform: ({ db }) =>
    listOf(listAccounts(db), { present: presentUser, view: userView, emptyText: "No users." }),
});
