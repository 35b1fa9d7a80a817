import { expect, test } from "vitest";
import { describeElapsed, describeRemaining } from "./elapsed.ts";

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
  [23.6 * hour, "23 h ago"],
  [day, "1 day ago"],
  // The day before yesterday.
  [2 * day - 1, "1 day ago"],
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

test.each([
  [-day, "now"],
  [0, "now"],
  [1, "in 1 s"],
  [59_000, "in 59 s"],
  [minute - 1, "in 1 min"],
  [minute, "in 1 min"],
  [minute + 1, "in 2 min"],
  [hour - 1, "in 1 h"],
  [hour, "in 1 h"],
  [day - 1, "in 1 day"],
  [day, "in 1 day"],
  [day + 1, "in 2 days"],
])("describes a time in %i ms as “%s”", (milliseconds, words) => {
  expect(describeRemaining(before(-milliseconds), now)).toBe(words);
});
