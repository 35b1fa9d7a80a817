import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import { defaultSettings, type KeySettings } from "@latchkey/db/key-settings";
import { expect, test } from "vitest";
import { compileRestrictions } from "../restrictions.ts";
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

test("facts from before an invalidation can still be read, and deleted facts can't", () => {
  const cache = new FactsCache(10);
  cache.set("a", factsOf("a", ["one"]));
  cache.invalidate();
  expect(cache.peek("a")).toEqual(factsOf("a", ["one"]));
  expect([cache.peek("b"), cache.has("b")]).toEqual([undefined, false]);
  cache.delete("a");
  expect([cache.peek("a"), cache.has("a")]).toEqual([undefined, false]);
});

test("the number of keys plus memberships is bounded, and the key that was used longest ago is forgotten first", () => {
  const cache = new FactsCache(5);
  cache.set("a", factsOf("a", ["one"]));
  cache.set("b", factsOf("b", ["one"]));
  cache.set("b", factsOf("b", ["two"]));
  expect([cache.get("b"), cache.get("a")]).not.toContain(undefined);
  cache.set("c", factsOf("c", []));
  expect(cache.get("b")).toBeUndefined();
  expect(cache.get("a")?.memberships.size).toBe(1);
  cache.set("c", factsOf("c", ["one", "two", "three", "four"]));
  expect(cache.get("c")?.memberships.size).toBe(4);
});

test("facts that exceed the bound by themselves are not remembered", () => {
  const cache = new FactsCache(2);
  cache.set("a", factsOf("a", ["one", "two"]));
  expect(cache.get("a")).toBeUndefined();
});

test.each<[string, Partial<KeySettings>, number]>([
  ["IP ranges", { ipRanges: Array.from({ length: 100 }, (_, index) => `192.0.2.${index}`) }, 61],
  ["workspaces", { workspaceIds: Array.from({ length: 100 }, (_, index) => `${index}` as WorkspaceId) }, 21],
  ["permissions", { permissions: ["keys:verify"] }, 2],
  ["read only", { isReadOnly: true }, 1],
])("the restrictions of a key take space: %s", (_which, settings, size) => {
  const facts = {
    ...factsOf("a", []),
    restrictions: compileRestrictions({ ...defaultSettings, ...settings }),
  };
  const isRemembered = (capacity: number) => {
    const cache = new FactsCache(capacity);
    cache.set("a", facts);
    return cache.has("a");
  };
  expect([isRemembered(size - 1), isRemembered(size)]).toEqual([false, true]);
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

test("a user with many keys in many workspaces displaces no facts of others", () => {
  const cache = new FactsCache(2_000);
  const userOf = (name: string) => ({ userId: name as UserId });
  const others = Array.from({ length: 100 }, (_, index) => `other ${index}`);
  for (const name of others) cache.set(name, { ...factsOf(name, ["one"]), ...userOf(name) });
  const workspaces = Array.from({ length: 200 }, (_, index) => `workspace ${index}`);
  for (let key = 0; key < 1_000; key += 1)
    cache.set(`large ${key}`, { ...factsOf(`large ${key}`, workspaces), ...userOf("large") });
  expect(others.filter((name) => !cache.get(name))).toEqual([]);
  expect(cache.get("large 999")?.memberships.size).toBe(200);
  expect(cache.get("large 0")).toBeUndefined();
});
