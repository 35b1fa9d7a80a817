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

/** How the API searches: by the first characters of a key if the text has its prefix or was cut, otherwise by the start of a name. */
export function readKeySearch(q: string | undefined, prefix: string): { start?: string; name?: string } {
  const text = cutSecret(q ?? "").trim();
  if (text === "") return {};
  if (text.startsWith(`${prefix}_`) && /^[0-9A-Za-z_]+$/.test(text))
    return { start: text.slice(0, prefix.length + 7) };
  // A long name in lower case, such as "acme-production-reports", is not a key, which has digits or upper case.
  const isKey = text.length === maxLength.issuedKeyStart && !/\s/.test(text) && /[0-9A-Z]/.test(text);
  return isKey ? { start: text } : { name: text };
}
