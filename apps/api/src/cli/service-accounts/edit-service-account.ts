import type { UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { z } from "zod";
import { changeServiceAccount, type ServiceAccountChanges } from "../../domain/service-accounts.ts";
import { serviceAccountName } from "../../fields.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { serviceAccountId, serviceAccountRole } from "../values.ts";
import { findServiceAccountEdit } from "./service-account-edit.ts";
import { presentServiceAccountOf, serviceAccountView } from "./service-account-view.ts";

export const editServiceAccountTask = defineTask({
  input: z
    .strictObject({
      id: serviceAccountId,
      name: serviceAccountName.optional(),
      role: serviceAccountRole.optional(),
    })
    .refine(
      ({ name, role }) => name !== undefined || role !== undefined,
      "Nothing to change. Specify --name, --role or both.",
    ),
  perform: ({ db }, { id, ...changes }) => change(db, id, changes),
});

export const disableServiceAccountTask = defineStatusTask(true);
export const enableServiceAccountTask = defineStatusTask(false);

function defineStatusTask(isDisabled: boolean) {
  return defineTask({
    input: z.strictObject({ id: serviceAccountId }),
    perform: ({ db }, { id }) => change(db, id, { isDisabled }),
  });
}

async function change(db: Db, userId: UserId, changes: ServiceAccountChanges) {
  const { workspaceId, edit } = await findServiceAccountEdit(db, userId);
  const changed = await db
    .transaction()
    .execute((trx) => changeServiceAccount(trx, edit, { ...changes, userId }));
  return itemOf(presentServiceAccountOf(workspaceId, changed), serviceAccountView);
}
