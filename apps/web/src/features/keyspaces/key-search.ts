import { maxLength } from "@latchkey/limits";

/** A complete key of any keyspace, with any text behind it, and as its first group the characters that the list shows. */
const completeKey = /^([a-z0-9_]{2,16}_[0-9A-Za-z]{6})[0-9A-Za-z]{30}/;

/**
 * Cuts a pasted key to its first characters, so that no URL contains a secret. A part of a key is recognized only by the
 * prefix of the keyspace, because names can look like it. An imported key can have any format, so every long text without
 * spaces is cut.
 */
export function cutSecret(text: string, prefix: string): string {
  const trimmed = text.trim();
  const startLength = prefix.length + 7; // The underscore and 6 characters.
  if (trimmed.startsWith(`${prefix}_`) && /^[0-9A-Za-z]{7}/.test(trimmed.slice(prefix.length + 1)))
    return trimmed.slice(0, startLength);
  const issued = completeKey.exec(trimmed)?.[1];
  if (issued) return issued;
  return trimmed.length > maxLength.issuedKeyStart && !/\s/.test(trimmed)
    ? trimmed.slice(0, maxLength.issuedKeyStart)
    : text;
}

/**
 * Cuts a complete key that was pasted where an external ID is expected, as {@link cutSecret} does. External IDs can be long and begin
 * with the prefix of the keyspace, so only a text with exactly the characters of a key is cut.
 */
export function cutCompleteKey(text: string): string {
  return RegExp(`${completeKey.source}(?![0-9A-Za-z])`).exec(text.trim())?.[1] ?? text;
}

/** How the API searches: for the start of a name, or for the first characters of a secret. */
export function readKeySearch(q: string | undefined, prefix: string): { search?: string } {
  const text = cutSecret(q ?? "", prefix).trim();
  return text === "" ? {} : { search: text };
}
