import { rotateKeys } from "../../domain/issued-key-rotation.ts";
import { presentBulkRotation } from "../../issued-key-bulk-fields.ts";
import { secretResult } from "../keys/secret-result.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { overlap } from "../values.ts";
import { describeNotFound, findChosenKeys, keyChoice, noSuchKeys } from "./chosen-keys.ts";

export const rotateIssuedKeysTask = defineTask({
  input: keyChoice({ overlap }),
  perform: async ({ db, quotas }, { overlap, ...choice }) => {
    const { edit, ...keys } = await findChosenKeys(db, choice);
    const rotation = { ...keys, overlapSeconds: overlap, quotas };
    const result = presentBulkRotation(
      await db.transaction().execute((trx) => rotateKeys(trx, edit, rotation)),
    );
    const [first] = result.rotated;
    if (!first) throw noSuchKeys(keys.chosen);
    if (choice.ids.length === 1) return secretResult(first.id, first.key);
    return itemOf(result, [
      { label: "Rotated", text: ({ rotated }) => String(rotated.length) },
      { label: "Keys", text: ({ rotated }) => rotated.map(({ id, key }) => `${id}  ${key}`).join("\n") },
      { label: "Not found", text: describeNotFound },
    ]);
  },
});
