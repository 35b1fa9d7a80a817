import { expect, test } from "vitest";
import { Isolation } from "./isolation.ts";

test("remembers for a second, counted from the last time", () => {
  const isolation = new Isolation();
  isolation.add(["early", "late"], 0);
  isolation.add(["late"], 600);
  isolation.removeEnded(999);
  expect(isolation.isEmpty).toBe(false);
  expect(isolation.has("early")).toBe(true);
  isolation.removeEnded(1_000);
  expect(isolation.isEmpty).toBe(false);
  expect([isolation.has("early"), isolation.has("late")]).toEqual([false, true]);
  isolation.removeEnded(1_600);
  expect(isolation.isEmpty).toBe(true);
  expect(isolation.has("late")).toBe(false);
});

test("a name that is added again is forgotten after the others, and doesn't keep them", () => {
  const isolation = new Isolation();
  isolation.add(["again", "once"], 0);
  isolation.add(["again"], 600);
  isolation.removeEnded(1_000);
  expect(isolation.isEmpty).toBe(false);
  expect([isolation.has("again"), isolation.has("once")]).toEqual([true, false]);
});

test("forgets names that are deleted, and no others", () => {
  const isolation = new Isolation();
  isolation.add(["first", "second", "third"], 0);
  isolation.delete(["first", "third", "unknown"]);
  expect(["first", "second", "third"].map((name) => isolation.has(name))).toEqual([false, true, false]);
  isolation.delete(["second"]);
  expect(isolation.isEmpty).toBe(true);
});

test("forgets what was added first when it is full", () => {
  const isolation = new Isolation();
  isolation.add(["first"], 0);
  isolation.add(
    Array.from({ length: 10_000 }, (_, index) => `key ${index}`),
    0,
  );
  expect([isolation.has("first"), isolation.has("key 0"), isolation.has("key 9999")]).toEqual([
    false,
    true,
    true,
  ]);
});
