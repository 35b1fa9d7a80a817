import { encodeId } from "@latchkey/db/ids";
import type { ChosenKeys } from "@latchkey/db/issued-key-bulk";
import { issuedKeyLimits } from "@latchkey/limits";
import { z } from "zod";
import { type BulkResult, bulkActions } from "./domain/issued-key-bulk.ts";
import { issuedKeyId } from "./fields.ts";
import { externalId } from "./issued-key-fields.ts";
import { customIssue } from "./issues.ts";
import { shownId } from "./schemas.ts";

const { maxKeysPerConsumer: maxKeys } = issuedKeyLimits;

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
  })
  .refine(
    ({ externalId, keyIds }) => (externalId === undefined) !== (keyIds === undefined),
    customIssue("invalid_value", "Send either externalId or keyIds."),
  )
  .meta({ example: { action: "disable", externalId: "customer_42" } });

/** The keys that a parsed {@link bulkChange} chooses. */
export function readChosenKeys({
  externalId,
  keyIds = [],
}: Pick<z.output<typeof bulkChange>, "externalId" | "keyIds">): ChosenKeys {
  return externalId === undefined ? { ids: keyIds } : { externalId };
}

const ids = () => z.array(shownId("issuedKey")).meta({ maxItems: maxKeys });

/** What a change of several issued keys did. */
export const bulkResult = z
  .object({
    changed: ids().meta({ description: "The keys that were changed." }),
    unchanged: ids().meta({ description: "The keys that were already enabled, or already disabled." }),
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
