import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { verificationLimits } from "@latchkey/limits";

/** The prefix of API keys. Nothing else has it. */
export const apiKeyPrefix = "lk_";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 62^30 is a little over 2^178. */
const randomLength = 30;
const checksumLength = 6;
/** Every API key has this many characters. */
export const apiKeyLength = apiKeyPrefix.length + randomLength + checksumLength;
const apiKeyForm = /^lk_[0-9A-Za-z]{36}$/;
/** The prefix and 6 characters are enough for users to distinguish their keys. 142 random bits remain secret. */
const startLength = 6;
export const apiKeyStartLength = apiKeyPrefix.length + startLength;

/** A new key. Its secret is never available again. */
export interface NewKey {
  /** Prefix, 30 random characters of base62 (178 bits), and 6 characters of base62 CRC-32 of all before. */
  readonly secret: string;
  /** The prefix and 6 more characters of the secret, by which people recognize the key. */
  readonly start: string;
  /** The digest that is stored; see {@link digestKey}. */
  readonly hash: Buffer;
}

/** Creates an API key with the system's source of randomness, or with the given one. */
export function createApiKey(randomness: (size: number) => Buffer = randomBytes): NewKey {
  return createKey(apiKeyPrefix, randomness);
}

/**
 * Creates an issued key, with the prefix of its keyspace and an underscore. The prefix is never `lk` and never starts with
 * `lk_`, so that an issued key can't be taken for an API key.
 */
export function createIssuedKey(prefix: string, randomness: (size: number) => Buffer = randomBytes): NewKey {
  return createKey(`${prefix}_`, randomness);
}

function createKey(prefix: string, randomness: (size: number) => Buffer): NewKey {
  const body = prefix + randomBase62(randomLength, randomness);
  const secret = body + checksum(body);
  return {
    secret,
    start: secret.slice(0, startLength - randomLength - checksumLength),
    hash: Buffer.from(digestKey(secret), "base64"),
  };
}

/**
 * Whether a token could be an API key: its prefix, length and checksum are correct. Runs no query, so typos and the
 * keys of other systems are rejected without the database.
 */
export function isWellFormedApiKey(token: string): boolean {
  return apiKeyForm.test(token) && hasValidChecksum(token);
}

/** Whether the last characters of a token are the checksum of those before, as in every API key and issued key. */
export function hasValidChecksum(token: string): boolean {
  return checksum(token.slice(0, -checksumLength)) === token.slice(-checksumLength);
}

/**
 * Returns the SHA-256 of a whole key, in base64. Slow, salted hashes protect passwords, which people choose and
 * attackers guess. A key has 178 random bits, so the only way to find it from its hash is a brute-force search of 2^177
 * attempts, and a table of all hashes is impossible. A lookup by digest also leaks nothing through its timing, because
 * the digest of an almost correct key is as different as that of any other string.
 */
export function digestKey(secret: string): string {
  return hash("sha256", secret, "base64");
}

/**
 * The digest of a text that a consumer presented as a key; undefined if no key can be this text: it is empty, longer than an
 * imported key can be, or not valid Unicode, which has the digest of another text.
 */
export function digestPresented(text: string): string | undefined {
  const isPossible = text !== "" && text.length <= verificationLimits.maxKeyLength && text.isWellFormed();
  return isPossible ? digestKey(text) : undefined;
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
      // Bytes from 248 (4 × 62) on are skipped, because they would make the first characters of the alphabet more
      // likely.
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % 62);
    }
  }
  return text;
}
