/**
 * Replaces every whole API key in a text with `lk_…`. Everything that a client sends and that is stored or logged goes
 * through here, because people paste keys where they don't belong. Names and descriptions with a key are rejected. Also
 * recognizes percent-encoded keys, even if they are encoded several times. A text with such a key is returned with its
 * letters, digits and underscores decoded.
 *
 * Takes linear time: one pass decodes, and one pass replaces.
 */
export function redactKeys(text: string): string {
  if (!text.includes("lk_") && !text.includes("%")) return text;
  const decoded = text.replace(encodedByte, decodeWordCharacter);
  const redacted = decoded.replace(keyForm, "lk_…");
  return redacted === decoded ? text : redacted;
}

const keyForm = /lk_[0-9A-Za-z]{36}/g;

/** A percent-encoded byte, whose percent sign may be encoded itself (`%25`) any number of times. */
const encodedByte = /%(?:25)*([0-9A-Fa-f]{2})/g;

function decodeWordCharacter(encoded: string, hex: string): string {
  const character = String.fromCharCode(Number.parseInt(hex, 16));
  return /\w/.test(character) ? character : encoded;
}
