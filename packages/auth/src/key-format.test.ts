import fc from "fast-check";
import { expect, test } from "vitest";
import { createApiKey, digestKey, isWellFormedApiKey } from "./key-format.ts";

test("a new key has the prefix, 30 random characters and a checksum, and is well-formed", () => {
  for (let count = 0; count < 1_000; count += 1) {
    const { secret, start, hash } = createApiKey();
    expect(secret).toMatch(/^lk_[0-9A-Za-z]{36}$/);
    expect(start).toBe(secret.slice(0, 9));
    expect(hash.toString("base64")).toBe(digestKey(secret));
    expect(isWellFormedApiKey(secret)).toBe(true);
  }
});

test("no character is likelier than another", () => {
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

test("randomness that is too large for an even share is thrown away", () => {
  const bytes = [255, 248, 0, 61, 62, 247];
  const { secret } = createApiKey((size) =>
    Buffer.from(Array.from({ length: size }, (_, index) => bytes[index % 6] ?? 0)),
  );
  expect(secret.slice(3, 33)).toMatch(/^(0z0z)+(0z)?$/);
});

test("any change of one character breaks the checksum", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 38 }), fc.constantFrom(..."09AZaz_-.~ é"), (place, character) => {
      const { secret } = createApiKey();
      const changed = secret.slice(0, place) + character + secret.slice(place + 1);
      return isWellFormedApiKey(changed) === (changed === secret);
    }),
    { numRuns: 2_000 },
  );
});

test("nothing else is well-formed", () => {
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
