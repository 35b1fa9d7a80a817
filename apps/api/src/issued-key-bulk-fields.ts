import { encodeId } from "@latchkey/db/ids";
import type { ChosenKeys } from "@latchkey/db/issued-key-bulk";
import { issuedKeyLimits } from "@latchkey/limits";
import { z } from "zod";
import {
  type BulkRequest,
  type BulkResult,
  type BulkSettings,
  bulkActions,
} from "./domain/issued-key-bulk.ts";
import { editOf, issuedKeyId } from "./fields.ts";
import { externalId, issuedKeyChanges } from "./issued-key-fields.ts";
import { customIssue } from "./issues.ts";
import { shownId } from "./schemas.ts";

const { maxKeysPerConsumer: maxKeys } = issuedKeyLimits;

const { permissions, expiresAt, limits, ipRanges, meta } = issuedKeyChanges;

/** What several keys can have in common. A change of it has three states per field, like that of one key. */
const changes = editOf(
  { permissions, expiresAt, limits, ipRanges, meta } satisfies Readonly<
    Record<keyof BulkSettings, z.ZodType>
  >,
  "Send at least one field to change.",
).meta({
  description:
    "What to change, with the action `change`. A field that is left out stays, and null clears it.",
});

/** A change of several issued keys. */
export const bulkChange = z
  .strictObject({
    action: z.enum(bulkActions).meta({ description: "What to do with the keys.", example: "disable" }),
    externalId: externalId
      .exactOptional()
      .meta({ description: "The consumer whose keys are all changed.", example: "customer_42" }),
    keyIds: z
      .array(issuedKeyId.meta(shownId("issuedKey").meta() ?? {}))
      .min(1, "Include at least one key.")
      .max(maxKeys, `Include at most ${maxKeys} keys.`)
      .exactOptional()
      .meta({ description: "The IDs of the keys to change." }),
    changes: changes.exactOptional(),
  })
  .refine(({ action, changes }) => (action === "change") === (changes !== undefined), {
    path: ["changes"],
    ...customIssue("invalid_value", "Send changes with the action change, and with no other action."),
  })
  .refine(
    ({ externalId, keyIds }) => (externalId === undefined) !== (keyIds === undefined),
    customIssue("invalid_value", "Send either externalId or keyIds."),
  )
  .meta({ example: { action: "disable", externalId: "customer_42" } });

/** What a parsed {@link bulkChange} does, and the keys that it chooses. */
export function readBulkChange({
  action,
  changes = {},
  externalId,
  keyIds = [],
}: z.output<typeof bulkChange>): BulkRequest & { readonly chosen: ChosenKeys } {
  const chosen = externalId === undefined ? { ids: keyIds } : { externalId };
  return action === "change" ? { action, changes, chosen } : { action, chosen };
}

const ids = () => z.array(shownId("issuedKey")).meta({ maxItems: maxKeys });

/** What a change of several issued keys did. */
export const bulkResult = z
  .object({
    changed: ids().meta({ description: "The keys that were changed." }),
    unchanged: ids().meta({ description: "The keys that already were as requested." }),
    notFound: ids().meta({ description: "The IDs that no key of the keyspace has." }),
  })
  .meta({ id: "IssuedKeyBulkResult" });

export function presentBulkResult(result: BulkResult): z.input<typeof bulkResult> {
  const encode = (keys: BulkResult["changed"]) => keys.map((id) => encodeId("issuedKey", id));
  return {
    changed: encode(result.changed),
    unchanged: encode(result.unchanged),
    notFound: encode(result.notFound),
  };
}
