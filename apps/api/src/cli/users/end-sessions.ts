import { encodeId } from "@latchkey/db/ids";
import { z } from "zod";
import { endAccountSessions, getAccount } from "../../domain/accounts.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference } from "../values.ts";

export const endSessionsTask = defineTask({
  input: z.strictObject({ user: userReference }),
  perform: async ({ db }, { user }) => {
    const { id, email } = await getAccount(db, user);
    const count = await db.transaction().execute((trx) => endAccountSessions(trx, id, commandOrigin));
    return itemOf({ id: encodeId("user", id), email, count }, [
      { label: "User", text: (ended) => `${ended.id} (${ended.email})` },
      { label: "Sessions ended", text: (ended) => String(ended.count) },
    ]);
  },
});
