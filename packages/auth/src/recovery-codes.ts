import { randomBytes } from "node:crypto";

/** How many recovery codes a user gets at a time. */
const codeCount = 10;
/** Crockford's base32: without I, L, O and U, which are easy to confuse. Five random bits per character. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const codeLength = 12;

/** Creates ten recovery codes of 60 random bits, such as `7Q2M-KX9D-0RTB`. */
export function createRecoveryCodes(): string[] {
  return Array.from({ length: codeCount }, () => {
    // 256 is a multiple of 32, so every character is equally likely.
    const characters = Array.from(randomBytes(codeLength), (byte) => alphabet[byte % alphabet.length]);
    return [0, 4, 8].map((start) => characters.slice(start, start + 4).join("")).join("-");
  });
}

/**
 * Reads a recovery code that someone typed: in any letter case, with or without hyphens and spaces. Returns undefined if
 * it can't be one.
 */
export function parseRecoveryCode(text: string): string | undefined {
  const code = text.toUpperCase().replace(/[\s-]/g, "").replace(/O/g, "0").replace(/[IL]/g, "1");
  return code.length === codeLength && [...code].every((character) => alphabet.includes(character))
    ? code
    : undefined;
}
