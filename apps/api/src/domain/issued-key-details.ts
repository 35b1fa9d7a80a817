import { isDeepStrictEqual } from "node:util";
import type { Details } from "@latchkey/db/audit-actions";
import type {
  Credits,
  IssuedFieldName,
  IssuedKeySettings,
  NamedLimit,
} from "@latchkey/db/issued-key-settings";

// Settings of issued keys as values of audit events, which are short texts.

/** The most names in one value. */
const maxNames = 10;

/** Permissions or other names, separated by commas; null for none. Ends with the number of omitted names. */
export function listNames(names: readonly string[]): string | null {
  if (names.length === 0) return null;
  const omitted = names.length - maxNames;
  return [...names.slice(0, maxNames), ...(omitted > 0 ? [`${omitted} more`] : [])].join(", ");
}

/** Limits such as `requests 100/60s, exports 5/3600s when named`; null for none. */
export function listLimits(limits: readonly NamedLimit[]): string | null {
  return listNames(limits.map(describeLimit));
}

/** A limit such as `requests 100/60s`. */
export function describeLimit({ name, quota, windowSeconds, appliesAlways }: NamedLimit): string {
  return `${name} ${quota}/${windowSeconds}s${appliesAlways ? "" : " when named"}`;
}

/** Credits such as `500, refilled to 1000 monthly on day 1`; null for none. */
export function describeCredits(credits: Credits | null): string | null {
  if (!credits) return null;
  const { remaining, refill } = credits;
  if (!refill) return String(remaining);
  const day = refill.day === null ? "" : ` on day ${refill.day}`;
  return `${remaining}, refilled to ${refill.amount} ${refill.interval}${day}`;
}

/** A key with its consumer and credits. */
type DescribedKey = IssuedKeySettings & {
  readonly externalId: string | null;
  readonly remainingCredits: number | null;
};

/**
 * The fields of a key in audit events: all but `meta`, which can contain anything, and `isDisabled`. Only the event of a new key has
 * `isDisabled`, because disabling and enabling have their own events.
 */
type AuditedFields = Readonly<Record<Exclude<IssuedFieldName, "meta" | "isDisabled">, Details[string]>>;

/** What an audit event says about a key: never its secret. */
export function describeIssuedKey(key: DescribedKey): AuditedFields {
  const { name, permissions, limits, expiresAt, ipRanges, externalId } = key;
  return {
    name,
    externalId,
    permissions: listNames(permissions),
    limits: listLimits(limits),
    credits: describeCredits(toCredits(key)),
    expiresAt: expiresAt?.toISOString() ?? null,
    ipRanges: ipRanges && listNames(ipRanges),
  };
}

/** The credits of a key; null for none. */
export function toCredits(key: Pick<DescribedKey, "remainingCredits" | "refill">): Credits | null {
  return key.remainingCredits === null ? null : { remaining: key.remainingCredits, refill: key.refill };
}

/**
 * What an audit event says about an edit: the values that differ. `isMetaChanged` stands for the data itself. Unless the edit set
 * the balance, both keys need the same one, because uses and refills change it too.
 */
export function describeIssuedEdit(
  before: DescribedKey,
  after: DescribedKey,
): { readonly before: Details; readonly after: Details } | undefined {
  const [former, current]: readonly [Details, Details] = [
    describeIssuedKey(before),
    describeIssuedKey(after),
  ];
  const isMetaChanged = !isDeepStrictEqual(before.meta, after.meta);
  const isChanged: Readonly<Record<string, boolean>> = {
    // The texts can be equal although omitted items differ.
    permissions: JSON.stringify(before.permissions) !== JSON.stringify(after.permissions),
    ipRanges: JSON.stringify(before.ipRanges) !== JSON.stringify(after.ipRanges),
  };
  const names = Object.keys(current).filter((name) => isChanged[name] ?? former[name] !== current[name]);
  if (names.length === 0 && !isMetaChanged) return undefined;
  const pick = (details: Details) => Object.fromEntries(names.map((name) => [name, details[name] ?? null]));
  return { before: pick(former), after: { ...pick(current), ...(isMetaChanged && { isMetaChanged }) } };
}
