import { expect, test } from "vitest";
import { Isolation } from "./isolation.ts";

test("remembers for a second, counted from the last time", () => {
  const isolation = new Isolation();
  isolation.add(["early", "late"], 0);
  isolation.add(["late"], 600);
  expect(isolation.isEmpty(999)).toBe(false);
  expect(isolation.has("early")).toBe(true);
  expect(isolation.isEmpty(1_000)).toBe(false);
  expect([isolation.has("early"), isolation.has("late")]).toEqual([false, true]);
  expect(isolation.isEmpty(1_600)).toBe(true);
  expect(isolation.has("late")).toBe(false);
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
