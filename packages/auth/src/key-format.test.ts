import fc from "fast-check";
import { expect, test } from "vitest";
import {
  apiKeyLength,
  apiKeyStartLength,
  createApiKey,
  createIssuedKey,
  digestKey,
  digestPresented,
  isWellFormedApiKey,
} from "./key-format.ts";

test("a new key has the prefix, 30 random characters and a checksum, and is well-formed", () => {
  for (let count = 0; count < 1_000; count += 1) {
    const { secret, start, hash } = createApiKey();
    expect(secret).toMatch(/^lk_[0-9A-Za-z]{36}$/);
    expect(secret).toHaveLength(apiKeyLength);
    expect(start).toBe(secret.slice(0, 9));
    expect(start).toHaveLength(apiKeyStartLength);
    expect(hash.toString("base64")).toBe(digestKey(secret));
    expect(isWellFormedApiKey(secret)).toBe(true);
  }
});

test("an issued key has the prefix of its keyspace, and is never well-formed as an API key", () => {
  for (const prefix of ["sk_live", "l_k", "lka", "__", "0".repeat(16)]) {
    const { secret, start, hash } = createIssuedKey(prefix);
    expect(secret).toMatch(new RegExp(`^${prefix}_[0-9A-Za-z]{36}$`));
    expect(start).toBe(secret.slice(0, prefix.length + 7));
    expect(hash.toString("base64")).toBe(digestKey(secret));
    expect(isWellFormedApiKey(secret)).toBe(false);
  }
  // The checksum covers the prefix, as for API keys.
  const fixed = () => Buffer.alloc(30);
  expect(createIssuedKey("lk", fixed)).toEqual(createApiKey(fixed));
});

test("all characters are equally likely", () => {
  const counts = new Map<string, number>();
  for (let count = 0; count < 5_000; count += 1) {
    for (const character of createApiKey().secret.slice(3, 33))
      counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const expected = (5_000 * 30) / 62;
  expect(counts.size).toBe(62);
  // Chi-squared with 61 degrees of freedom exceeds 150 less than once in ten billion fair runs.
  const chiSquared = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  expect(chiSquared).toBeLessThan(150);
});

test("discards random bytes that would make some characters more likely", () => {
  const bytes = [255, 248, 0, 61, 62, 247];
  const { secret } = createApiKey((size) =>
    Buffer.from(Array.from({ length: size }, (_, index) => bytes[index % 6] ?? 0)),
  );
  expect(secret.slice(3, 33)).toMatch(/^(0z0z)+(0z)?$/);
});

test("every change to one character invalidates the checksum", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 38 }), fc.constantFrom(..."09AZaz_-.~ é"), (place, character) => {
      const { secret } = createApiKey();
      const changed = secret.slice(0, place) + character + secret.slice(place + 1);
      return isWellFormedApiKey(changed) === (changed === secret);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  // Computed with Python's zlib.crc32 and hashlib.sha256. Never change these: existing keys must stay valid.
  [
    "lk_0123456789ABCDEFGHIJabcdefghij1f6n4W",
    "b2bfcfd8cf10b02e8766b274fe6eddd10683460eb4b4f3fe6fc7176e2730da48",
  ],
  [
    "lk_0000000000000000000000000000003xzwem",
    "c1201425de02fd6d3645323ffbef60dc397cb19c565c121e614b90989c0761d8",
  ],
  [
    "lk_00000000000000000000000000022600X43d",
    "cc1fa384c60d1e1d26532906c7a3377496220be7f601e9dd4039bc0b9a7bc0f1",
  ],
])("the key %s has a valid checksum and is stored as %s", (secret, digest) => {
  expect(isWellFormedApiKey(secret)).toBe(true);
  expect(Buffer.from(digestKey(secret), "base64").toString("hex")).toBe(digest);
});

test.each([
  ["an extra character at the end", "lk_0123456789ABCDEFGHIJabcdefghijk0W2ywd"],
  ["an extra character at the start", "xlk_0123456789ABCDEFGHIJabcdefghij1seC83"],
  ["a missing character", "lk_0123456789ABCDEFGHIJabcdefghi40JqCI"],
  ["a character outside of base62", "lk_0123456789ABCDEFGHIJabcdefghi-3GZDtX"],
  ["another prefix", "sk_0123456789ABCDEFGHIJabcdefghij22Be2A"],
])("a token with %s isn't well-formed, although its checksum is correct", (_what, token) => {
  expect(isWellFormedApiKey(token)).toBe(false);
});

test("other text isn't well-formed", () => {
  const { secret } = createApiKey();
  for (const token of [
    "",
    "lk_",
    secret.slice(0, -1),
    `${secret}0`,
    secret.toUpperCase(),
    secret.replace("lk_", "sk_"),
  ]) {
    expect(isWellFormedApiKey(token)).toBe(false);
  }
  fc.assert(fc.property(fc.string(), (token) => !isWellFormedApiKey(token)));
});

test("only a text that can be a key has a digest: the replacement of an unpaired surrogate is another key", () => {
  for (const text of ["a", "\t", "\0", "\ufffd", "x".repeat(512)])
    expect(digestPresented(text)).toBe(digestKey(text));
  for (const text of ["", "\ud800", "x".repeat(513)]) expect(digestPresented(text)).toBeUndefined();
});
