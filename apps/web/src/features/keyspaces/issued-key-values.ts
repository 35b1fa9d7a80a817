import { issuedKeyLimits, maxLength } from "@latchkey/limits";
import type { IssuedKey, IssuedKeyChanges, IssuedKeyFields, Keyspace } from "../../server/trpc.ts";
import { changedFields } from "../../ui/changed-fields.ts";
import { formatCount } from "../../ui/count.ts";
import { describeLengthError } from "../../ui/describe-length-error.ts";
import { describeInvalidRanges } from "../../ui/ip-range-lines.ts";
import type { lifetimes } from "../../ui/lifetimes.ts";
import { type CreditsValues, creditsRules, readCredits, refillNames, toCredits } from "./credits-values.ts";
import { type LimitValues, limitRules, readLimits, toLimits } from "./limit-values.ts";
import { describePermissionError, readPermissions } from "./permission-lines.ts";

/** The values of the form of an issued key. */
export interface IssuedKeyValues extends CreditsValues {
  readonly name: string;
  readonly externalId: string;
  /** One permission per line. */
  readonly permissions: string;
  /** "keep" for the current expiry, "default" for the lifetime that the keyspace sets. */
  readonly expiry: "keep" | "default" | "never" | keyof typeof lifetimes | "date";
  /** The value of a `datetime-local` input. */
  readonly expiryDate: string;
  /** One IP range per line. */
  readonly ipRanges: string;
  readonly limits: readonly LimitValues[];
  /** A JSON object; empty for an empty one. */
  readonly meta: string;
}

/** Fields that form one setting. The balance is not part of its refill, because uses change it. */
export const keySettings = [refillNames, ["expiry", "expiryDate"]] as const;

/** The values of a new key: the defaults of its keyspace. */
export function valuesOfNewKey(keyspace: Keyspace): IssuedKeyValues {
  return {
    name: "",
    externalId: "",
    permissions: keyspace.defaultPermissions.join("\n"),
    expiry: keyspace.defaultLifetimeDays === null ? "never" : "default",
    expiryDate: "",
    ipRanges: "",
    limits: readLimits(keyspace.defaultLimits),
    meta: "",
    ...readCredits(keyspace.defaultCredits),
  };
}

export function valuesOfKey(key: IssuedKey): IssuedKeyValues {
  return {
    name: key.name,
    externalId: key.externalId ?? "",
    permissions: key.permissions.join("\n"),
    expiry: key.expiresAt === null ? "never" : "keep",
    expiryDate: "",
    ipRanges: key.ipRanges?.join("\n") ?? "",
    limits: readLimits(key.limits),
    meta: Object.keys(key.meta).length === 0 ? "" : JSON.stringify(key.meta, null, 2),
    ...readCredits(key.credits),
  };
}

const { maxMetaBytes, maxIpRanges } = issuedKeyLimits;

/** Validates each field. Returns the error to show, or null if the value is valid. */
export const issuedKeyRules = {
  name: (name: string): string | null => describeLengthError(name.trim(), maxLength.issuedKeyName),
  externalId: (id: string): string | null => describeLengthError(id.trim(), maxLength.externalId),
  permissions: describePermissionError,
  expiryDate: (date: string, { expiry }: IssuedKeyValues): string | null =>
    // The server checks that the date is in the future, because the clock of a browser can be wrong.
    expiry === "date" && Number.isNaN(new Date(date).getTime()) ? "Enter a date and a time." : null,
  ipRanges: (text: string): string | null =>
    describeInvalidRanges(text) ??
    (readRanges(text).length > maxIpRanges ? `Include at most ${maxIpRanges} IP ranges.` : null),
  limits: limitRules,
  meta(text: string): string | null {
    const value = parseMeta(text);
    if (value === undefined) return 'Enter a JSON object, for example {"plan": "pro"}.';
    const bytes = new TextEncoder().encode(JSON.stringify(value)).length;
    return bytes <= maxMetaBytes
      ? null
      : `Use at most ${formatCount(maxMetaBytes)} bytes of JSON. You entered ${formatCount(bytes)}.`;
  },
  ...creditsRules,
};

/** Returns the fields as the API expects them, except for a default or unchanged expiry. */
export function fieldsOfKey(values: IssuedKeyValues): IssuedKeyFields {
  const ranges = readRanges(values.ipRanges);
  const externalId = values.externalId.trim();
  const { expiry } = values;
  return {
    name: values.name.trim(),
    externalId: externalId === "" ? null : externalId,
    permissions: readPermissions(values.permissions),
    ...(expiry !== "keep" && expiry !== "default" && { expiresAt: readExpiry(values) }),
    ipRanges: ranges.length > 0 ? ranges : null,
    limits: toLimits(values.limits),
    credits: toCredits(values),
    meta: parseMeta(values.meta) ?? {},
  };
}

/** The fields that differ. An unchanged balance is left out, so that it stays as concurrent uses have changed it. */
export function changesOfKey(before: IssuedKeyFields, after: IssuedKeyFields): IssuedKeyChanges {
  const { credits, ...changes } = changedFields(before, after);
  if (credits === undefined) return changes;
  if (!credits || !before.credits) return { ...changes, credits };
  return { ...changes, credits: changedFields(before.credits, credits) };
}

/** A lifetime is sent as a duration, so that the server's clock determines the expiry. */
function readExpiry({
  expiry,
  expiryDate,
}: IssuedKeyValues): NonNullable<IssuedKeyFields["expiresAt"]> | null {
  if (expiry === "never") return null;
  return expiry === "date" ? new Date(expiryDate).toISOString() : { inSeconds: Number(expiry) };
}

function readRanges(text: string): string[] {
  return text.split(/[\s,]+/).filter((range) => range !== "");
}

/** Undefined if the text is not a JSON object. */
function parseMeta(text: string): Record<string, unknown> | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined; // Checked above.
  } catch {
    return undefined;
  }
}
