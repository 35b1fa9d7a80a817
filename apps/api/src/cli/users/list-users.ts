import { z } from "zod";
import { listAccounts, searchAccounts } from "../../domain/accounts.ts";
import { searchText } from "../../fields.ts";
import { listOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { presentUser, userView } from "./user-view.ts";

export const listUsersTask = defineTask({
  input: z.strictObject({ search: searchText.optional() }),
  perform: ({ db }, { search }) => {
    const users = search ? searchAccounts(db, search) : listAccounts(db);
    return listOf(users, { present: presentUser, view: userView, emptyText: "No users." });
  },
});
