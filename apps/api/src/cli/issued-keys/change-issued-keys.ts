import { changeIssuedKeys } from "../../domain/issued-key-bulk.ts";
import { changeIssuedKey } from "../../domain/issued-keys.ts";
import { presentBulkResult } from "../../issued-key-bulk-fields.ts";
import { presentIssuedKey } from "../../presenters/issued-key.ts";
import { itemOf, type View } from "../result.ts";
import { defineTask } from "../task.ts";
import { describeNotFound, findChosenKeys, keyChoice, noSuchKeys } from "./chosen-keys.ts";
import { issuedKeyView } from "./issued-key-view.ts";

type Action = "enable" | "disable" | "delete";

type Result = ReturnType<typeof presentBulkResult>;

const countUnchanged = ({ unchanged }: Result) => String(unchanged.length);

const labels = {
  enable: ["Enabled", [{ label: "Already enabled", text: countUnchanged }]],
  disable: ["Disabled", [{ label: "Already disabled", text: countUnchanged }]],
  delete: ["Deleted", []],
} as const satisfies Record<Action, readonly [string, View<Result>]>;

function defineChange(action: Action) {
  const [label, others] = labels[action];
  return defineTask({
    input: keyChoice({}),
    perform: async ({ db, quotas }, choice) => {
      const { edit, ...keys } = await findChosenKeys(db, choice);
      const [id, ...more] = choice.ids;
      const onlyId = more.length === 0 ? id : undefined;
      if (onlyId && action !== "delete") {
        const path = { keyspaceId: keys.keyspaceId, id: onlyId };
        const change = { isDisabled: action === "disable", versions: undefined };
        const changed = await db
          .transaction()
          .execute((trx) => changeIssuedKey(trx, edit, path, change, quotas));
        return itemOf(presentIssuedKey(changed), issuedKeyView);
      }
      const result = presentBulkResult(
        await db.transaction().execute((trx) => changeIssuedKeys(trx, edit, { ...keys, action, quotas })),
      );
      const [first] = [...result.changed, ...result.unchanged];
      if (first === undefined) throw noSuchKeys(keys.chosen);
      if (onlyId) return itemOf({ id: first }, [{ label, text: ({ id }) => id }]);
      return itemOf(result, [
        { label, text: ({ changed }) => String(changed.length) },
        ...others,
        { label: "Not found", text: describeNotFound },
      ]);
    },
  });
}

export const disableIssuedKeysTask = defineChange("disable");
export const enableIssuedKeysTask = defineChange("enable");
export const deleteIssuedKeysTask = defineChange("delete");
