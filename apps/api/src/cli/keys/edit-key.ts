import { AppError } from "@latchkey/errors";
import { z } from "zod";
import { type RequestedSettings, resolveExpiry } from "../../domain/key-expiry.ts";
import { keyDescription, keyName } from "../../fields.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { keyId } from "../values.ts";
import { explainExpansion } from "./explain-expansion.ts";
import { applyChanges, findEdit, getOwnedKey } from "./key-edit.ts";
import { limitOption, restrictionOptions, toSettings } from "./key-restrictions.ts";
import { keyView, presentOwnedKey } from "./key-view.ts";

const input = z
  .strictObject({
    id: keyId,
    name: keyName.optional(),
    description: keyDescription.optional(),
    ...restrictionOptions,
    // Commander makes --no-limit false, and expiry true unless --no-expiry is given.
    limit: z.preprocess((value) => (value === false ? null : value), limitOption.nullable().optional()),
    expiry: z.boolean(),
    allWorkspaces: z.boolean().default(false),
    allPermissions: z.boolean().default(false),
    anyIp: z.boolean().default(false),
    expandAccess: z.boolean().default(false),
  })
  .transform(({ id, name, description, expandAccess, ...options }) => ({
    id,
    name,
    description,
    expandAccess,
    settings: {
      ...toSettings(options),
      ...(!options.expiry && { expiresAt: null }),
      ...(options.allWorkspaces && { workspaceIds: null }),
      ...(options.allPermissions && { permissions: null }),
      ...(options.anyIp && { ipRanges: null }),
    } satisfies RequestedSettings,
  }))
  .refine(
    ({ name, description, settings }) =>
      name !== undefined || description !== undefined || Object.keys(settings).length > 0,
    "Nothing to change. Specify at least one option that changes the key.",
  );

export const editKeyTask = defineTask({
  input,
  perform: async ({ db, quotas }, { id, name, description, settings, expandAccess }) => {
    const edit = await findEdit(db, id);
    try {
      const changes = { name, description, settings, mayExpand: expandAccess };
      return itemOf(presentOwnedKey(await applyChanges({ db, quotas }, edit, changes)), keyView);
    } catch (error) {
      if (!(error instanceof AppError && error.code === "UNPROCESSABLE_CONTENT")) throw error;
      const requested = await db.transaction().execute((trx) => resolveExpiry(trx, settings));
      throw explainExpansion(await getOwnedKey(db, id), requested) ?? error;
    }
  },
});
