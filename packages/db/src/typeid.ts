/**
 * Converts UUIDs to and from the suffix of a TypeID: 26 characters of Crockford's base32. This exists for speed only: the
 * package `typeid-js` takes 2.1 µs to encode an ID and 3.0 µs to decode one, and this takes 0.2 µs. A response about 100
 * verified keys has 300 IDs. A test compares both.
 * @see https://github.com/jetify-com/typeid/tree/main/spec
 */

const base32 = Buffer.from("0123456789abcdefghjkmnpqrstvwxyz");
const hex = Buffer.from("0123456789abcdef");
const base32Values = valuesOf(base32);
const hexValues = valuesOf(hex);
const hyphen = "-".charCodeAt(0);

const uuidLength = 36;
const suffixLength = 26;

/** The characters of the result. Each call fills it and copies from it, so that all of them can use the same memory. */
const characters = Buffer.alloc(uuidLength);

/** @param uuid in lower case, with hyphens. */
export function encodeSuffix(uuid: string): string {
  // A shorter text would leave characters of another ID in the result.
  if (uuid.length !== uuidLength) throw new Error("This is not a UUID.");
  let length = 0;
  let bits = 0;
  // 26 characters have two bits more than a UUID, which precede it and are 0.
  let bitCount = 2;
  for (let index = 0; index < uuidLength; index += 1) {
    const code = uuid.charCodeAt(index);
    if (code === hyphen) continue;
    bits = ((bits << 4) | (hexValues[code] ?? 0)) & 0xff;
    bitCount += 4;
    if (bitCount < 5) continue;
    bitCount -= 5;
    characters[length] = base32[(bits >> bitCount) & 0x1f] ?? 0;
    length += 1;
  }
  return characters.toString("latin1", 0, suffixLength);
}

/** @param suffix 26 characters of the alphabet, the first of which is at most `7`. */
export function decodeSuffix(suffix: string): string {
  if (suffix.length !== suffixLength) throw new Error("This is not the suffix of a TypeID.");
  let length = 0;
  let bits = 0;
  // The first two bits are not part of the UUID.
  let bitCount = -2;
  for (let index = 0; index < suffixLength; index += 1) {
    bits = ((bits << 5) | (base32Values[suffix.charCodeAt(index)] ?? 0)) & 0x1ff;
    bitCount += 5;
    while (bitCount >= 4) {
      bitCount -= 4;
      if (length === 8 || length === 13 || length === 18 || length === 23) {
        characters[length] = hyphen;
        length += 1;
      }
      characters[length] = hex[(bits >> bitCount) & 0xf] ?? 0;
      length += 1;
    }
  }
  return characters.toString("latin1", 0, uuidLength);
}

/** The value of each digit, by its character code. */
function valuesOf(digits: Buffer): Uint8Array {
  const values = new Uint8Array(128);
  for (const [value, code] of digits.entries()) values[code] = value;
  return values;
}
