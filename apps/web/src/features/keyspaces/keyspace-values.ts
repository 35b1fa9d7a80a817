import { issuedKeyLimits, maxLength } from "@latchkey/limits";
import type { Keyspace, KeyspaceFields } from "../../server/trpc.ts";
import { formatCount } from "../../ui/count.ts";
import { describeLengthError } from "../../ui/describe-length-error.ts";
import { isWholeNumber } from "../../ui/whole-number.ts";
import { type CreditsValues, creditsRules, readCredits, toCredits } from "./credits-values.ts";
import { type LimitValues, limitRules, readLimits, toLimits } from "./limit-values.ts";
import { describePermissionError, readPermissions } from "./permission-lines.ts";

/** The values of the form of a keyspace. */
export interface KeyspaceValues extends CreditsValues {
  readonly name: string;
  readonly prefix: string;
  readonly environment: string;
  /** Empty for keys that never expire. */
  readonly lifetimeDays: string;
  /** One permission per line. */
  readonly permissions: string;
  readonly limits: readonly LimitValues[];
}

export const emptyKeyspace: KeyspaceValues = {
  name: "",
  prefix: "",
  environment: "",
  lifetimeDays: "",
  permissions: "",
  limits: [],
  ...readCredits(null),
};

export function valuesOfKeyspace(keyspace: Keyspace): KeyspaceValues {
  return {
    name: keyspace.name,
    prefix: keyspace.prefix,
    environment: keyspace.environment,
    lifetimeDays: keyspace.defaultLifetimeDays === null ? "" : String(keyspace.defaultLifetimeDays),
    permissions: keyspace.defaultPermissions.join("\n"),
    limits: readLimits(keyspace.defaultLimits),
    ...readCredits(keyspace.defaultCredits),
  };
}

const { maxLifetimeDays } = issuedKeyLimits;

/** Validates each field. Returns the error to show, or null if the value is valid. */
export const keyspaceRules = {
  name: (name: string): string | null =>
    name.trim() === "" ? "Enter a name." : describeLengthError(name.trim(), maxLength.keyspaceName),
  prefix(text: string): string | null {
    const prefix = text.trim();
    if (!/^[a-z0-9_]{2,}$/.test(prefix))
      return "Enter at least 2 lower-case letters, digits and underscores, for example sk_live.";
    if (/^lk(?:_|$)/.test(prefix)) return "A prefix can’t be “lk” or start with “lk_”. Only API keys do.";
    return describeLengthError(prefix, maxLength.keyspacePrefix);
  },
  environment: (text: string): string | null =>
    describeLengthError(text.trim(), maxLength.keyspaceEnvironment),
  lifetimeDays: (days: string): string | null =>
    days.trim() === "" || isWholeNumber(days, { min: 1, max: maxLifetimeDays })
      ? null
      : `Enter a whole number from 1 to ${formatCount(maxLifetimeDays)} (10 years), or leave empty for never.`,
  permissions: describePermissionError,
  limits: limitRules,
  ...creditsRules,
};

/** Returns the fields as the API expects them. */
export function fieldsOfKeyspace(values: KeyspaceValues): KeyspaceFields {
  const { name, prefix, environment, lifetimeDays, permissions, limits } = values;
  return {
    name: name.trim(),
    prefix: prefix.trim(),
    environment: environment.trim(),
    defaultLifetimeDays: lifetimeDays.trim() === "" ? null : Number(lifetimeDays),
    defaultPermissions: readPermissions(permissions),
    defaultLimits: toLimits(limits),
    defaultCredits: toCredits(values),
  };
}
