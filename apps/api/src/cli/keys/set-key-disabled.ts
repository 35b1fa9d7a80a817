import { z } from "zod";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { keyId } from "../values.ts";
import { applyChanges, findEdit } from "./key-edit.ts";
import { keyView, presentOwnedKey } from "./key-view.ts";

function defineChange(isDisabled: boolean) {
  return defineTask({
    input: z.strictObject({ id: keyId }),
    perform: async ({ db, quotas }, { id }) => {
      const changes = { settings: { isDisabled }, mayExpand: true };
      const changed = await applyChanges({ db, quotas }, await findEdit(db, id), changes);
      return itemOf(presentOwnedKey(changed), keyView);
    },
  });
}

export const disableKeyTask = defineChange(true);
export const enableKeyTask = defineChange(false);
