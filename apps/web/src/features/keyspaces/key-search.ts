import { maxLength } from "@latchkey/limits";

/**
 * Cuts a pasted key to its first characters, so that no URL contains a secret. An imported key can have any format, so
 * every long text without spaces is cut.
 */
export function cutSecret(text: string): string {
  const trimmed = text.trim();
  const issued = /^[a-z0-9_]{2,16}_[0-9A-Za-z]{6}(?=[0-9A-Za-z])/.exec(trimmed)?.[0];
  if (issued) return issued;
  return trimmed.length > maxLength.issuedKeyStart && !/\s/.test(trimmed)
    ? trimmed.slice(0, maxLength.issuedKeyStart)
    : text;
}

/** How the API searches: for the start of a name, or for the first characters of a secret. */
export function readKeySearch(q: string | undefined): { search?: string } {
  const text = cutSecret(q ?? "").trim();
  return text === "" ? {} : { search: text };
}
