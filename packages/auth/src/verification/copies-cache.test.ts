import { beforeEach, describe, expect, test } from "vitest";
import { CopiesCache } from "./copies-cache.ts";
import { caller, plainKey } from "./verifiable-key.test-kit.ts";
import type { VerifiableKey } from "./verifiable-key.ts";

const lookup = { digest: "digest", callerDigest: "caller", workspaceId: undefined, keyspaceId: undefined };
const known: VerifiableKey = { ...plainKey, isInUse: false };
const later: VerifiableKey = { ...plainKey, isInUse: true };
const found = { keys: [known], isOnly: true, caller };

let cache: CopiesCache;
beforeEach(() => {
  cache = new CopiesCache(100_000);
});

test.each([
  ["the only copy", true],
  ["copies that were found for one caller", false],
])("facts among %s are replaced with later ones", (_what, isOnly) => {
  const other = { ...plainKey };
  cache.set(lookup, { ...found, keys: [other, known], isOnly });
  cache.replace(lookup, known, later);
  const copies = cache.get(lookup, caller);
  expect(copies).toEqual([other, later]);
  expect(copies?.[0]).toBe(other);
});

describe("facts aren't replaced", () => {
  test("if they were forgotten", () => {
    cache.set(lookup, found);
    cache.delete(lookup);
    cache.replace(lookup, known, later);
    expect(cache.has(lookup, caller)).toBe(false);
  });

  test("if they were invalidated", () => {
    cache.set(lookup, found);
    cache.invalidate();
    cache.replace(lookup, known, later);
    expect(cache.get(lookup, caller)).toBeUndefined();
  });

  test("if others are remembered instead, even with the same version", () => {
    const newest = { ...known, name: "Renamed" };
    cache.set(lookup, { ...found, keys: [newest] });
    cache.replace(lookup, known, later);
    expect(cache.get(lookup, caller)).toEqual([newest]);
  });
});
