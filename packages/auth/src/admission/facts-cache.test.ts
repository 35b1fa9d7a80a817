import type { KeyId, WorkspaceId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import type { KeyFacts } from "./decision.ts";
import { validFacts } from "./facts.test-kit.ts";
import { FactsCache } from "./facts-cache.ts";

function factsOf(key: string, workspaces: readonly string[], version = 1): KeyFacts {
  const roles = new Map(workspaces.map((workspace) => [workspace as WorkspaceId, "member"] as const));
  return { ...validFacts, keyId: key as KeyId, version, roles };
}

test("roles are collected while the version stays the same, and start over with the next version", () => {
  const memory = new FactsCache(10);
  memory.remember("a", factsOf("a", ["one"]));
  memory.remember("a", factsOf("a", ["two"]));
  expect(memory.recall("a")?.roles.size).toBe(2);
  memory.remember("a", factsOf("a", ["three"], 2));
  expect([...(memory.recall("a")?.roles.keys() ?? [])]).toEqual(["three"]);
});

test("the number of keys plus roles is bounded, and the first key remembered is forgotten first", () => {
  const memory = new FactsCache(5);
  memory.remember("a", factsOf("a", ["one"]));
  memory.remember("b", factsOf("b", ["one"]));
  memory.remember("b", factsOf("b", ["two"]));
  expect([memory.recall("a"), memory.recall("b")]).not.toContain(undefined);
  memory.remember("b", factsOf("b", ["three"]));
  expect(memory.recall("a")).toBeUndefined();
  expect(memory.recall("b")?.roles.size).toBe(3);
  memory.forget("b");
  memory.remember("c", factsOf("c", ["one", "two", "three", "four"]));
  expect(memory.recall("c")?.roles.size).toBe(4);
});

test("facts that exceed the bound by themselves are not remembered", () => {
  const memory = new FactsCache(2);
  memory.remember("a", factsOf("a", ["one", "two"]));
  expect(memory.recall("a")).toBeUndefined();
});

test("a key that changes often takes the space of one key", () => {
  const memory = new FactsCache(4);
  memory.remember("a", factsOf("a", ["one"]));
  for (let version = 1; version <= 10; version += 1) memory.remember("b", factsOf("b", ["one"], version));
  expect(memory.recall("a")?.version).toBe(1);
  expect(memory.recall("b")?.version).toBe(10);
});

test("a key that changes counts as remembered last", () => {
  const memory = new FactsCache(2);
  memory.remember("a", factsOf("a", []));
  memory.remember("b", factsOf("b", []));
  memory.remember("a", factsOf("a", [], 2));
  memory.remember("c", factsOf("c", []));
  expect(memory.recall("a")?.version).toBe(2);
  expect(memory.recall("b")).toBeUndefined();
});
