import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/** The prefix of API keys, and of nothing else. */
export const apiKeyPrefix = "lk_";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^30 is a little over 2^178. */
const randomLength = 30;
const checksumLength = 6;
/** Every API key has this many characters. */
export const apiKeyLength = apiKeyPrefix.length + randomLength + checksumLength;
const apiKeyForm = /^lk_[0-9A-Za-z]{36}$/;
/** With the prefix, enough to tell one's own keys apart; 142 random bits remain unknown. */
const startLength = apiKeyPrefix.length + 6;

/** A key at the moment it is made: the only time its secret is known. */
export interface NewKey {
  /** Prefix, 30 random characters of base62 (178 bits), and 6 characters of base62 CRC-32 of all before. */
  readonly secret: string;
  /** The secret's first 9 characters, kept to recognise it by. */
  readonly start: string;
  /** What is stored; see {@link digestKey}. */
  readonly hash: Buffer;
}

/** Makes a key from the system's own source of randomness, or from the one given. */
export function createApiKey(randomness: (size: number) => Buffer = randomBytes): NewKey {
  const body = apiKeyPrefix + randomBase62(randomLength, randomness);
  const secret = body + checksum(body);
  return { secret, start: secret.slice(0, startLength), hash: Buffer.from(digestKey(secret), "base64") };
}

/**
 * Whether a token could be an API key: its prefix, length and checksum are right. Costs no query, so that
 * typos and other systems' keys end here.
 */
export function isWellFormedApiKey(token: string): boolean {
  return apiKeyForm.test(token) && checksum(token.slice(0, -checksumLength)) === token.slice(-checksumLength);
}

/**
 * The SHA-256 of a whole key, in base64. A slow, salted hash guards secrets that people choose and attackers
 * guess; a key has 178 random bits, so that nothing faster than exhaustion (2^177 tries) finds it from its hash
 * and no table of hashes can exist. Looking up by digest also leaves nothing to time: a near miss is as far
 * from a key's digest as any other string.
 */
export function digestKey(secret: string): string {
  return hash("sha256", secret, "base64");
}

function checksum(body: string): string {
  let rest = crc32(body);
  let digits = "";
  for (let place = 0; place < checksumLength; place += 1) {
    digits = alphabet.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

function randomBase62(length: number, randomness: (size: number) => Buffer): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomness(length)) {
      // 248 is 4 × 62: a higher byte would make the first digits likelier than the rest.
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % 62);
    }
  }
  return text;
}
