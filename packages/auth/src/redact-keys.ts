import { apiKeyLength, hasValidChecksum } from "./key-format.ts";

/**
 * Replaces the secret part of every whole key in a text with `…`: of API keys, and of issued keys with any prefix. Everything
 * that a client sends and that is stored or logged goes through here, because people paste keys where they don't belong.
 * Names and descriptions with a key are rejected. Also recognizes percent-encoded keys, even if they are encoded several
 * times. A text with such a key is returned with its letters, digits and underscores decoded.
 *
 * Takes linear time: one pass decodes, and one pass replaces. A text that is shorter than an API key, such as most request
 * IDs, is only measured.
 */
export function redactKeys(text: string): string {
  if (text.length < apiKeyLength || !/[_%]/.test(text)) return text;
  const decoded = text.replace(encodedByte, decodeWordCharacter);
  const redacted = decoded.replace(secretForm, (secret, start: number) =>
    isSecret(decoded, start) ? "_…" : secret,
  );
  return redacted === decoded ? text : redacted;
}

/** The secret part of a key, after the prefix. Two of them can't overlap. */
const secretForm = /_[0-9A-Za-z]{36}/g;
const secretLength = 37;
const [minPrefixLength, maxPrefixLength] = [2, 16];

/**
 * Whether a text of the form of a secret part, from `start` on, belongs to a key. The checksum tells the keys of all keyspaces
 * from other text, and includes the prefix, whose length is unknown. An API key with a typo is a secret too.
 */
function isSecret(text: string, start: number): boolean {
  if (text.endsWith("lk", start)) return true;
  const before = text.slice(Math.max(0, start - maxPrefixLength), start);
  const prefixLength = before.length - before.search(/[a-z0-9_]*$/);
  for (let length = minPrefixLength; length <= prefixLength; length += 1)
    if (hasValidChecksum(text.slice(start - length, start + secretLength))) return true;
  return false;
}

/** A percent-encoded byte, whose percent sign may be encoded itself (`%25`) any number of times. */
const encodedByte = /%(?:25)*([0-9A-Fa-f]{2})/g;

function decodeWordCharacter(encoded: string, hex: string): string {
  const character = String.fromCharCode(Number.parseInt(hex, 16));
  return /\w/.test(character) ? character : encoded;
}
