import { expect, test } from "vitest";
import { describeElapsed } from "./elapsed.ts";

const now = new Date("2026-03-15T12:00:00Z");
const before = (milliseconds: number) => new Date(now.getTime() - milliseconds);
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

test.each([
  [0, "just now"],
  [9_999, "just now"],
  [10_000, "10 s ago"],
  [minute - 1, "59 s ago"],
  [minute, "1 min ago"],
  [hour - 1, "59 min ago"],
  [hour, "1 h ago"],
  [day - 1, "23 h ago"],
  [day, "yesterday"],
  [2 * day, "2 days ago"],
  [30 * day, "30 days ago"],
])("describes a time %i ms ago as “%s”", (milliseconds, words) => {
  expect(describeElapsed(before(milliseconds), now)).toBe(words);
});

test("returns the date of a time over 30 days ago", () => {
  expect(describeElapsed(before(31 * day), now)).toMatch(/2026/);
});

test("treats a time ahead of the user's clock as now", () => {
  expect(describeElapsed(before(-5 * minute), now)).toBe("just now");
});
