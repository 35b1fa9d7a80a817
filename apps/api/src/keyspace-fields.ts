import { issuedKeyLimits, maxLength } from "@latchkey/limits";
import { z } from "zod";
import { clearable, keyspaceName, label } from "./fields.ts";
import { credits, issuedPermissions, namedLimits, refill } from "./issued-key-fields.ts";

const prefix = z
  .string()
  .min(2, "Use at least 2 characters.")
  .max(maxLength.keyspacePrefix, `Use at most ${maxLength.keyspacePrefix} characters.`)
  .regex(
    /^(?!lk(?:_|$))[a-z0-9_]+$/,
    "Use lower-case letters, digits and underscores. A prefix can’t be “lk” or start with “lk_”.",
  )
  .meta({
    description:
      "The secrets of keys that are issued or rotated after the prefix is set start with it and an underscore.",
    example: "sk_live",
  });

const environment = label(maxLength.keyspaceEnvironment).meta({
  description: "A label, such as `production`; empty for none.",
  example: "production",
});

const defaults = {
  defaultLifetimeDays: z
    .int()
    .min(1, "Use at least 1.")
    .max(issuedKeyLimits.maxLifetimeDays, `Use at most ${issuedKeyLimits.maxLifetimeDays} (10 years).`)
    .nullable()
    .meta({
      description: "The number of days after which a key issued without an expiry expires; null for never.",
      example: 365,
    }),
  defaultPermissions: issuedPermissions.meta({
    description: "The permissions of a key that is issued without permissions.",
  }),
  defaultLimits: namedLimits.meta({ description: "The limits of a key that is issued without limits." }),
  defaultCredits: credits
    .nullable()
    .meta({ description: "The credits of a key that is issued without credits; null for none." }),
};

/** The fields of a new keyspace. */
export const newKeyspaceFields = {
  name: keyspaceName.meta({ example: "Production" }),
  prefix,
  environment: environment.default(""),
  defaultLifetimeDays: defaults.defaultLifetimeDays.default(null),
  defaultPermissions: defaults.defaultPermissions.default([]),
  defaultLimits: defaults.defaultLimits.default([]),
  defaultCredits: defaults.defaultCredits.default(null),
};

/** An edit of the default credits. */
const defaultCreditsEdit = z.strictObject({
  remaining: credits.shape.remaining,
  refill: refill
    .nullable()
    .exactOptional()
    .meta({ description: "When the balance is refilled; null for never. If absent, it stays as it is." }),
});

/** The fields of an edit. Each one is optional. Null clears those that can be empty. */
export const keyspaceChanges = {
  name: keyspaceName.meta({ example: "Production" }).exactOptional(),
  prefix: prefix.exactOptional(),
  environment: clearable(environment, ""),
  defaultLifetimeDays: defaults.defaultLifetimeDays.exactOptional(),
  defaultPermissions: clearable(defaults.defaultPermissions, []),
  defaultLimits: clearable(defaults.defaultLimits, []),
  defaultCredits: defaultCreditsEdit
    .nullable()
    .exactOptional()
    .meta({ description: "The credits of a key that is issued without credits; null for none." }),
  isDisabled: z
    .boolean()
    .meta({
      description: "If `true`, no key of the keyspace is valid until it is enabled again.",
      example: false,
    })
    .exactOptional(),
};
