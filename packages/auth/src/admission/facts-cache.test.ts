import type { KeyId, WorkspaceId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import type { KeyFacts } from "./decision.ts";
import { membershipAs, validFacts } from "./facts.test-kit.ts";
import { FactsCache } from "./facts-cache.ts";

function factsOf(key: string, workspaces: readonly string[], version = 1): KeyFacts {
  const memberships = new Map(
    workspaces.map((workspace) => [workspace as WorkspaceId, membershipAs("member")] as const),
  );
  return { ...validFacts, keyId: key as KeyId, version, memberships };
}

test("memberships are collected while the version stays the same, and start over with the next version", () => {
  const cache = new FactsCache(10);
  cache.set("a", factsOf("a", ["one"]));
  cache.set("a", factsOf("a", ["two"]));
  expect(cache.get("a")?.memberships.size).toBe(2);
  cache.set("a", factsOf("a", ["three"], 2));
  expect([...(cache.get("a")?.memberships.keys() ?? [])]).toEqual(["three"]);
});

test("memberships start over with the next version of the owner", () => {
  const cache = new FactsCache(10);
  cache.set("a", factsOf("a", ["one"]));
  cache.set("a", { ...factsOf("a", ["two"]), ownerVersion: 1 });
  expect([...(cache.get("a")?.memberships.keys() ?? [])]).toEqual(["two"]);
});

test("an invalidation hides all facts until they are read again, and memberships then start over", () => {
  const cache = new FactsCache(10);
  cache.set("a", factsOf("a", ["one"]));
  cache.invalidate();
  expect([cache.get("a"), cache.has("a")]).toEqual([undefined, true]);
  cache.set("a", factsOf("a", ["two"]));
  expect([...(cache.get("a")?.memberships.keys() ?? [])]).toEqual(["two"]);
});

test("the number of keys plus memberships is bounded, and the first key remembered is forgotten first", () => {
  const cache = new FactsCache(5);
  cache.set("a", factsOf("a", ["one"]));
  cache.set("b", factsOf("b", ["one"]));
  cache.set("b", factsOf("b", ["two"]));
  expect([cache.get("a"), cache.get("b")]).not.toContain(undefined);
  cache.set("b", factsOf("b", ["three"]));
  expect(cache.get("a")).toBeUndefined();
  expect(cache.get("b")?.memberships.size).toBe(3);
  cache.delete("b");
  cache.set("c", factsOf("c", ["one", "two", "three", "four"]));
  expect(cache.get("c")?.memberships.size).toBe(4);
});

test("facts that exceed the bound by themselves are not remembered", () => {
  const cache = new FactsCache(2);
  cache.set("a", factsOf("a", ["one", "two"]));
  expect(cache.get("a")).toBeUndefined();
});

test("a key that changes often takes the space of one key", () => {
  const cache = new FactsCache(4);
  cache.set("a", factsOf("a", ["one"]));
  for (let version = 1; version <= 10; version += 1) cache.set("b", factsOf("b", ["one"], version));
  expect(cache.get("a")?.version).toBe(1);
  expect(cache.get("b")?.version).toBe(10);
});

test("a key that changes counts as remembered last", () => {
  const cache = new FactsCache(2);
  cache.set("a", factsOf("a", []));
  cache.set("b", factsOf("b", []));
  cache.set("a", factsOf("a", [], 2));
  cache.set("c", factsOf("c", []));
  expect(cache.get("a")?.version).toBe(2);
  expect(cache.get("b")).toBeUndefined();
});
