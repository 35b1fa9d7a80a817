import { expect, test } from "vitest";
import { parseUsageRange } from "./usage-range-search.ts";
import { listUsageRanges } from "./usage-ranges.ts";

test.each([
  [365, ["24h: 24 hours", "7d: 7 days", "30d: 30 days", "90d: 90 days"]],
  [60, ["24h: 24 hours", "7d: 7 days", "30d: 30 days", "90d: 60 days"]],
  [30, ["24h: 24 hours", "7d: 7 days", "30d: 30 days"]],
  [10, ["24h: 24 hours", "7d: 7 days", "30d: 10 days"]],
  [2, ["24h: 24 hours", "7d: 2 days"]],
  [1, ["24h: 24 hours"]],
])("with a history of %i days, no period is longer", (historyDays, expected) => {
  const ranges = listUsageRanges(historyDays);
  expect(ranges.map(({ name, label }) => `${name}: ${label}`)).toEqual(expected);
  for (const { bucket, count, label } of ranges) expect(label).toBe(`${count} ${bucket}s`);
});

test("reads the range from the URL, and drops anything else", () => {
  expect(parseUsageRange({ range: "7d" })).toEqual({ range: "7d" });
  expect(parseUsageRange({ range: "24h" })).toEqual({});
  expect(parseUsageRange({ range: "9y" })).toEqual({});
});
