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
import type { BulkRotationResult, NewSecret } from "./domain/issued-key-rotation.ts";
import { editOf, issuedKeyId } from "./fields.ts";
import { externalId, issuedKeyChanges } from "./issued-key-fields.ts";
import { customIssue } from "./issues.ts";
import { rotation } from "./presenters/api-key.ts";
import { issuedKeyWithSecret } from "./presenters/issued-key.ts";
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

/** Which keys to change together. */
const choice = {
  externalId: externalId
    .exactOptional()
    .meta({ description: "The consumer. The call applies to all of its keys.", example: "customer_42" }),
  keyIds: z
    .array(issuedKeyId.meta(shownId("issuedKey").meta() ?? {}))
    .min(1, "Include at least one key.")
    .max(maxKeys, `Include at most ${maxKeys} keys.`)
    .exactOptional()
    .meta({ description: "The IDs of the keys that the call applies to." }),
};

type Choice = z.output<z.ZodObject<typeof choice>>;

const exactlyOneChoice = [
  ({ externalId, keyIds }: Choice) => (externalId === undefined) !== (keyIds === undefined),
  customIssue("invalid_value", "Send either externalId or keyIds."),
] as const;

function readChoice({ externalId, keyIds = [] }: Choice): ChosenKeys {
  return externalId === undefined ? { ids: keyIds } : { externalId };
}

/** A change of several issued keys. */
export const bulkChange = z
  .strictObject({
    action: z.enum(bulkActions).meta({ description: "What to do with the keys.", example: "enable" }),
    ...choice,
    changes: changes.exactOptional(),
  })
  .refine(({ action, changes }) => (action === "change") === (changes !== undefined), {
    path: ["changes"],
    ...customIssue("invalid_value", "Send changes with the action change, and with no other action."),
  })
  .refine(...exactlyOneChoice)
  // The examples on the reference page create a key of this consumer, and sending this one must not disable it.
  .meta({ example: { action: "enable", externalId: "customer_42" } });

/** What a parsed {@link bulkChange} does, and the keys that it chooses. */
export function readBulkChange({
  action,
  changes = {},
  ...choice
}: z.output<typeof bulkChange>): BulkRequest & { readonly chosen: ChosenKeys } {
  const chosen = readChoice(choice);
  return action === "change" ? { action, changes, chosen } : { action, chosen };
}

/** A rotation of several issued keys. */
export const bulkRotation = z
  .strictObject({ ...choice, overlapSeconds: rotation.shape.overlapSeconds })
  .refine(...exactlyOneChoice)
  .meta({ example: { externalId: "customer_42", overlapSeconds: 86_400 } });

/** The overlap of a parsed {@link bulkRotation}, and the keys that it chooses. */
export function readBulkRotation({ overlapSeconds, ...choice }: z.output<typeof bulkRotation>) {
  return { overlapSeconds, chosen: readChoice(choice) };
}

const ids = () => z.array(shownId("issuedKey")).meta({ maxItems: maxKeys });

/** What a change of several issued keys did. */
export const bulkResult = z
  .object({
    changed: ids().meta({ description: "The keys that were changed." }),
    unchanged: ids().meta({ description: "The keys that were already in the requested state." }),
    notFound: ids().meta({ description: "The IDs that match no key in the keyspace." }),
  })
  .meta({ id: "IssuedKeyBulkResult" });

/** What a rotation of several issued keys did. */
export const bulkRotationResult = z
  .object({
    rotated: z
      .array(
        issuedKeyWithSecret.pick({
          id: true,
          name: true,
          externalId: true,
          start: true,
          key: true,
          secretStatus: true,
        }),
      )
      .meta({ maxItems: maxKeys, description: "The keys that were rotated, each with its new secret." }),
    notFound: ids().meta({ description: "The IDs that match no key in the keyspace." }),
  })
  .meta({ id: "IssuedKeyBulkRotationResult" });

export function presentBulkRotation({ rotated, notFound }: BulkRotationResult) {
  return {
    rotated: rotated.map(({ id, name, externalId, ...created }) => ({
      id: encodeId("issuedKey", id),
      name,
      externalId,
      ...presentNewSecret(created),
    })),
    notFound: notFound.map((id) => encodeId("issuedKey", id)),
  };
}

/** The fields of a rotated key that its new secret determines. */
export function presentNewSecret({ start, secret }: NewSecret) {
  return { start, key: secret, secretStatus: "issued" as const };
}

export function presentBulkResult(result: BulkResult): z.input<typeof bulkResult> {
  const encode = (keys: BulkResult["changed"]) => keys.map((id) => encodeId("issuedKey", id));
  return {
    changed: encode(result.changed),
    unchanged: encode(result.unchanged),
    notFound: encode(result.notFound),
  };
}
