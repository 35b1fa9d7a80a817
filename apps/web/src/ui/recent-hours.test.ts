import { expect, test } from "vitest";
import { describeRecentHours } from "./recent-hours.ts";

const startsAt = "2026-03-15T12:00:00Z";

test.each([
  ["2026-03-15T12:59:59Z", "this hour"],
  // The use may have been a second ago.
  ["2026-03-15T13:00:00Z", "in the last 2 hours"],
  ["2026-03-15T13:59:59Z", "in the last 2 hours"],
  ["2026-03-15T14:00:00Z", undefined],
])("a use in the hour from 12:00 was, at %s, %s", (now, words) => {
  expect(describeRecentHours(startsAt, new Date(now))).toBe(words);
});
