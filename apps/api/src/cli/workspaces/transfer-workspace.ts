import { openAsOperator } from "@latchkey/auth/workspace-access";
import { z } from "zod";
import { getAccount } from "../../domain/accounts.ts";
import { transferOwnership } from "../../domain/ownership.ts";
import { commandOrigin } from "../command-origin.ts";
import { presentMemberOf } from "../members/member-view.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { userReference, workspaceId } from "../values.ts";

export const transferWorkspaceTask = defineTask({
  input: z.strictObject({ id: workspaceId, to: userReference, from: userReference.optional() }),
  perform: async ({ db, quotas }, { id, ...users }) => {
    const to = (await getAccount(db, users.to)).id;
    const from = users.from && (await getAccount(db, users.from)).id;
    const edit = { scope: openAsOperator(id), origin: commandOrigin };
    const changed = await db
      .transaction()
      .execute((trx) => transferOwnership(trx, edit, { from, to }, quotas));
    const presented = {
      owner: presentMemberOf(id, changed.to),
      formerOwner: presentMemberOf(id, changed.from),
    };
    return itemOf(presented, [
      { label: "Owner", text: ({ owner }) => `${owner.name} (${owner.email})` },
      {
        label: "Former owner, now an admin",
        text: ({ formerOwner: { name, email } }) => `${name} (${email})`,
      },
    ]);
  },
});
