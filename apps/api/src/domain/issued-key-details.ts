import type { Credits, NamedLimit } from "@latchkey/db/issued-key-settings";

// Settings of issued keys as values of audit events, which are short texts.

/** Permissions or other names, separated by commas; null for none. */
export function listNames(names: readonly string[]): string | null {
  return names.length === 0 ? null : names.join(", ");
}

/** Limits such as `requests 100/60s, exports 5/3600s when named`; null for none. */
export function listLimits(limits: readonly NamedLimit[]): string | null {
  const texts = limits.map(
    ({ name, quota, windowSeconds, appliesAlways }) =>
      `${name} ${quota}/${windowSeconds}s${appliesAlways ? "" : " when named"}`,
  );
  return listNames(texts);
}

/** Credits such as `500, refilled to 1000 monthly on day 1`; null for none. */
export function describeCredits(credits: Credits | null): string | null {
  if (!credits) return null;
  const { remaining, refill } = credits;
  if (!refill) return String(remaining);
  const day = refill.day === null ? "" : ` on day ${refill.day}`;
  return `${remaining}, refilled to ${refill.amount} ${refill.interval}${day}`;
}
