import { expect, test } from "vitest";
import { FairCache } from "./fair-cache.ts";

/** A cache of 1,000 bytes in which each entry takes 10, unless a test says otherwise. */
function createCache() {
  const cache = new FairCache<string>(1_000);
  return {
    cache,
    add: (owner: string, key: string, size = 10) =>
      cache.set(`${owner} ${key}`, `${key} of ${owner}`, { owner, size }),
    keysOf: (owner: string, count: number) =>
      Array.from({ length: count }, (_, index) => index).filter(
        (index) => cache.get(`${owner} ${index}`) !== undefined,
      ),
  };
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

test("remembers, replaces and deletes values", () => {
  const { cache, add } = createCache();
  add("a", "1");
  add("a", "1", 20);
  add("b", "2");
  expect([cache.get("a 1"), cache.get("b 2"), cache.get("a 2")]).toEqual(["1 of a", "2 of b", undefined]);
  cache.delete("a 1");
  cache.delete("a 1");
  expect(cache.get("a 1")).toBeUndefined();
  cache.invalidate();
  expect([cache.get("b 2"), cache.peek("b 2"), cache.peek("a 1")]).toEqual([undefined, "2 of b", undefined]);
  add("b", "2");
  expect(cache.get("b 2")).toBe("2 of b");
});

test("a value is replaced unless it was deleted or invalidated", () => {
  const { cache, add } = createCache();
  add("a", "1");
  cache.replace("a 1", "new");
  cache.replace("a 2", "new");
  expect([cache.get("a 1"), cache.get("a 2")]).toEqual(["new", undefined]);
  cache.invalidate();
  cache.replace("a 1", "newer");
  expect([cache.get("a 1"), cache.peek("a 1")]).toEqual([undefined, "new"]);
});

test("an owner can use all of it, and then loses what it used longest ago", () => {
  const { cache, add, keysOf } = createCache();
  for (const index of numbers(100)) add("a", `${index}`);
  expect(keysOf("a", 100)).toEqual(numbers(100));
  cache.get("a 0");
  add("a", "100");
  expect(cache.get("a 1")).toBeUndefined();
  expect(cache.get("a 0")).toBe("0 of a");
});

test("a use moves any entry to the end of its owner's list, and the order of the others stays the same", () => {
  for (const used of numbers(4)) {
    const { cache, add, keysOf } = createCache();
    for (const index of numbers(4)) add("a", `${index}`, 250);
    cache.get(`a ${used}`);
    const order = [...numbers(4).filter((index) => index !== used), used];
    for (const removed of order.keys()) {
      add("a", `new ${removed}`, 250);
      const remembered = order.slice(removed + 1).map((index) => cache.peek(`a ${index}`));
      expect(remembered).toEqual(order.slice(removed + 1).map((index) => `${index} of a`));
      expect(cache.peek(`a ${order[removed]}`)).toBeUndefined();
    }
    expect(keysOf("a", 4)).toEqual([]);
  }
});

test("a value that is replaced no longer counts toward the size, even if the new one is too large", () => {
  const { cache, add } = createCache();
  add("a", "1", 600);
  add("a", "1", 600);
  expect(cache.get("a 1")).toBe("1 of a");
  add("a", "1", 1_001);
  expect(cache.get("a 1")).toBeUndefined();
  add("b", "2", 1_000);
  expect(cache.get("b 2")).toBe("2 of b");
});

test("fails instead of looking for an entry forever if sizes are less than 1", () => {
  const { add } = createCache();
  for (const index of numbers(2_000)) add(`owner ${index}`, "1", 0.5);
  expect(() => add("one more", "1", 0.5)).toThrow("The cache is too large, but has no entry to remove.");
});

test("forgets an owner whose last entry was deleted or displaced", () => {
  const { cache, add } = createCache();
  for (const index of numbers(150)) add(`owner ${index}`, "1");
  expect(cache.ownerCount).toBe(100);
  for (const index of numbers(150)) cache.delete(`owner ${index} 1`);
  expect(cache.ownerCount).toBe(0);
  add("owner 0", "1");
  add("owner 0", "2");
  cache.delete("owner 0 1");
  expect([cache.ownerCount, cache.get("owner 0 2")]).toEqual([1, "2 of owner 0"]);
});

test("an owner with a hundred thousand entries displaces no entry of owners that use little", () => {
  const { add, keysOf } = createCache();
  const owners = numbers(10).map((index) => `owner ${index}`);
  for (const owner of owners) for (const index of numbers(5)) add(owner, `${index}`);
  for (let index = 0; index < 100_000; index += 1) add("large", `${index}`);
  for (const owner of owners) expect(keysOf(owner, 5)).toEqual(numbers(5));
});

test("an owner gets a share of what another one has filled", () => {
  const { add, keysOf } = createCache();
  for (const index of numbers(100)) add("first", `${index}`);
  for (const index of numbers(100)) add("second", `${index}`);
  expect(keysOf("second", 100).length).toBeGreaterThanOrEqual(33);
  expect(keysOf("first", 100).length).toBeGreaterThanOrEqual(33);
  expect(keysOf("first", 100).length + keysOf("second", 100).length).toBe(100);
});

test("counts sizes and not entries, and doesn't remember a value that is larger than the cache", () => {
  const { cache, add, keysOf } = createCache();
  add("a", "0", 400);
  add("a", "1", 400);
  add("a", "2", 400);
  expect(keysOf("a", 3)).toEqual([1, 2]);
  add("a", "3", 1_001);
  expect(keysOf("a", 4)).toEqual([1, 2]);
  for (const key of ["a 1", "a 2"]) cache.delete(key);
  add("b", "0", 1_000);
  expect(keysOf("b", 1)).toEqual([0]);
});

test("many owners displace each other's entries evenly", () => {
  const { add, keysOf } = createCache();
  for (let round = 0; round < 3; round += 1)
    for (let owner = 0; owner < 1_000; owner += 1) add(`owner ${owner}`, "0");
  const remembered = numbers(1_000).filter((owner) => keysOf(`owner ${owner}`, 1).length > 0);
  expect(remembered).toHaveLength(100);
});
