import type { IssuedFieldName } from "@latchkey/db/issued-key-settings";
import { issuedKeyLimits, issuedPermissionPattern, maxLength } from "@latchkey/limits";
import { z } from "zod";
import {
  clearable,
  containsKey,
  editOf,
  hasNoKey,
  instant,
  label,
  noControlsPattern,
  printable,
} from "./fields.ts";
import { isStorableText } from "./find-forbidden.ts";
import { customIssue } from "./issues.ts";
import { keySettings } from "./key-fields.ts";

const { maxPermissions, maxNamedLimits, maxQuota, maxWindowSeconds, maxCredits } = issuedKeyLimits;
const { maxMetaBytes, maxMetaDepth } = issuedKeyLimits;

/** One permission of an issued key. */
export const issuedPermission = z
  .string()
  .max(maxLength.issuedPermission, `Use at most ${maxLength.issuedPermission} characters.`)
  .regex(issuedPermissionPattern, "Enter a permission such as documents.read, documents.* or *.")
  .refine(hasNoKey, containsKey)
  .meta({ example: "documents.read" });

/** The permissions of an issued key. The workspace's own API chooses their names. */
export const issuedPermissions = z
  .array(issuedPermission)
  .max(maxPermissions, `Include at most ${maxPermissions} permissions.`)
  .transform((names) => [...new Set(names)]);

const limitName = z
  .string()
  .max(maxLength.limitName, `Use at most ${maxLength.limitName} characters.`)
  .regex(/^[a-z0-9_-]+$/, "Use lower-case letters, digits, underscores and hyphens.")
  .meta({ description: "Identifies the limit in requests.", example: "requests" });

const namedLimit = z.strictObject({
  name: limitName,
  quota: z
    .int()
    .min(1, "Allow at least 1.")
    .max(maxQuota, `Allow at most ${maxQuota}.`)
    .meta({ description: "The maximum cost per window; a verification costs 1 by default.", example: 100 }),
  windowSeconds: z
    .int()
    .min(1, "Use at least 1 second.")
    .max(maxWindowSeconds, `Use at most ${maxWindowSeconds} seconds (30 days).`)
    .meta({ description: "The length of a window, in seconds.", example: 60 }),
  appliesAlways: z.boolean().default(true).meta({
    description: "Whether the limit applies to every verification; otherwise, only to those that name it.",
  }),
});

/** The limits of an issued key or a consumer. */
export const namedLimits = z
  .array(namedLimit)
  .max(maxNamedLimits, `Include at most ${maxNamedLimits} limits.`)
  .refine(
    (limits) => new Set(limits.map(({ name }) => name)).size === limits.length,
    customIssue("invalid_value", "Use each name once."),
  );

/** How a balance of credits is refilled. */
export const refill = z
  .strictObject({
    amount: z
      .int()
      .min(1, "Refill at least 1.")
      .max(maxCredits, `Refill at most ${maxCredits}.`)
      .meta({ description: "The balance after a refill. A higher balance stays.", example: 1_000 }),
    interval: z
      .enum(["daily", "monthly"])
      .meta({ description: "Refilled at midnight UTC.", example: "monthly" }),
    day: z.int().min(1, "Use at least 1.").max(31, "Use at most 31.").nullable().default(null).meta({
      description:
        "The day of a monthly refill; in a month with fewer days, its last day. Null for a daily refill.",
      example: 1,
    }),
  })
  .refine(({ interval, day }) => (interval === "monthly") === (day !== null), {
    path: ["day"],
    ...customIssue("invalid_value", "Enter a day for a monthly refill, and none for a daily refill."),
  });

/** A balance of credits. */
export const credits = z.strictObject({
  remaining: z
    .int()
    .min(0, "Use at least 0.")
    .max(maxCredits, `Use at most ${maxCredits}.`)
    .meta({ description: "The balance.", example: 1_000 }),
  refill: refill
    .nullable()
    .default(null)
    .meta({ description: "When the balance is refilled; null for never." }),
});

/** An edit of credits. Without `remaining`, the balance stays, which uses change at the same time. */
const creditsEdit = editOf(
  {
    remaining: credits.shape.remaining.exactOptional(),
    refill: refill
      .nullable()
      .exactOptional()
      .meta({ description: "When the balance is refilled; null for never." }),
  },
  "Send remaining, refill or both.",
);

const changedCredits = (min: number, description: string) =>
  z
    .int()
    .min(min, `Use at least ${min}.`)
    .max(maxCredits, `Use at most ${maxCredits}.`)
    .exactOptional()
    .meta({ description, example: 500 });

/** A change to a balance of credits. */
export const creditChange = z
  .strictObject({
    set: changedCredits(0, "The new balance."),
    add: changedCredits(1, "How much to add to the balance."),
    subtract: changedCredits(1, "How much to subtract from the balance."),
  })
  .refine(
    (change) => Object.keys(change).length === 1,
    customIssue("invalid_value", "Send one of set, add and subtract."),
  )
  .meta({
    example: { add: 500 },
    override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
      Object.assign(jsonSchema, { minProperties: 1, maxProperties: 1 });
    },
  });

/** Whom an issued key belongs to, as the workspace's own system identifies it. */
export const externalId = printable
  .min(1, "Enter an external ID.")
  .max(maxLength.externalId, `Use at most ${maxLength.externalId} characters.`)
  .refine((text) => text.trim() === text, customIssue("invalid_characters", "Remove the spaces around it."))
  .refine(
    (text) => text !== "." && text !== "..",
    customIssue("invalid_value", "Use another external ID. Clients remove this one from paths."),
  )
  .refine(hasNoKey, containsKey)
  .meta({ pattern: noControlsPattern, example: "customer_42" });

/** Data of the workspace's own. Postgres stores neither U+0000 nor lone surrogates in JSON, and writes all digits of a number. */
const meta = z
  .record(
    z
      .string()
      .min(1, "Enter a name.")
      .max(maxLength.metaName, `Use at most ${maxLength.metaName} characters.`)
      .meta({ pattern: noControlsPattern }),
    z.unknown(),
  )
  .refine(
    (value) => isStorable(value, maxMetaDepth),
    customIssue(
      "invalid_value",
      `Nest objects and lists at most ${maxMetaDepth} levels deep, and use no U+0000 and no incomplete characters.`,
    ),
  )
  .refine(
    (value) => everyNumber(value, isExact),
    customIssue(
      "invalid_value",
      "Write numbers beyond ±9007199254740991, and numbers closer to 0 than 1e-15, as text.",
    ),
  )
  .refine(
    (value) => Buffer.byteLength(JSON.stringify(value)) <= maxMetaBytes,
    customIssue("too_long", `Use at most ${maxMetaBytes} bytes of JSON.`),
  )
  .refine((value) => hasNoKey(JSON.stringify(value)), containsKey)
  .meta({
    description: `Data of your own, up to ${maxMetaBytes} bytes of JSON and ${maxMetaDepth} levels deep, which a verification returns. It is in no log. Write numbers beyond ±9007199254740991, and numbers closer to 0 than 1e-15, as text.`,
    example: { plan: "pro" },
  });

function isStorable(value: unknown, levels: number): boolean {
  if (typeof value === "string") return isStorableText(value);
  if (typeof value !== "object" || value === null) return true;
  return (
    levels > 0 &&
    Object.entries(value).every(([name, member]) => isStorableText(name) && isStorable(member, levels - 1))
  );
}

function everyNumber(value: unknown, holds: (number: number) => boolean): boolean {
  if (typeof value === "number") return holds(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every((member) => everyNumber(member, holds));
}

/**
 * Whether a verification returns a number as it was sent, in about as many bytes. JSON can't represent larger integers exactly: another
 * ID would be stored. Postgres writes 1e308 in 309 digits, so that the limit of bytes would allow 46 times as many.
 */
function isExact(number: number): boolean {
  const magnitude = Math.abs(number);
  return magnitude <= Number.MAX_SAFE_INTEGER && (magnitude === 0 || magnitude >= 1e-15);
}

/** A schema for each field of an issued key. */
type FieldSchemas = Readonly<Record<IssuedFieldName, z.ZodType>>;

const settings = {
  name: label(maxLength.issuedKeyName).meta({ description: "Empty for none.", example: "Acme" }),
  externalId: externalId.nullable().meta({
    description: "The consumer that the key belongs to, which is created with its first key; null for none.",
    example: "customer_42",
  }),
  meta,
  permissions: issuedPermissions.meta({
    description:
      "What the key allows in your API, such as `documents.read`, `documents.*` or `*`. Names of letters, digits, `_` and `-` are separated by `.` or `:`, and a wildcard can only follow the last separator. Case-sensitive.",
  }),
  limits: namedLimits.meta({ description: "The rate limits of the key." }),
  credits: credits
    .nullable()
    .meta({ description: "How much the key can still be used; null for no credits." }),
  expiresAt: instant
    .meta({ example: "2027-03-01T09:30:00Z" })
    .nullable()
    .meta({ description: "When the key expires, in the future; null for never." }),
  isDisabled: z.boolean().meta({ description: "Whether the key is disabled.", example: false }),
  ipRanges: keySettings.ipRanges,
} satisfies FieldSchemas;

/** The fields of a new issued key. The keyspace has defaults for those that may be left out without a default here. */
export const newIssuedKeyFields = {
  name: settings.name.default(""),
  externalId: settings.externalId.default(null),
  meta: settings.meta.default({}),
  permissions: settings.permissions.exactOptional(),
  limits: settings.limits.exactOptional(),
  credits: settings.credits.exactOptional(),
  expiresAt: settings.expiresAt.exactOptional(),
  isDisabled: settings.isDisabled.default(false),
  ipRanges: settings.ipRanges,
} satisfies FieldSchemas;

/** The fields of an edit. Each one is optional. Null clears those that can be empty. */
export const issuedKeyChanges = {
  name: clearable(settings.name, ""),
  externalId: settings.externalId.exactOptional(),
  meta: clearable(settings.meta, {}),
  permissions: clearable(settings.permissions, []),
  limits: clearable(settings.limits, []),
  credits: creditsEdit.nullable().exactOptional().meta({
    description:
      "The credits. Absent fields stay as they are: without `remaining`, the key keeps its balance, even if it is used at the same time. Null removes the credits.",
  }),
  expiresAt: settings.expiresAt.exactOptional(),
  isDisabled: settings.isDisabled.exactOptional(),
  ipRanges: settings.ipRanges,
} satisfies FieldSchemas;
