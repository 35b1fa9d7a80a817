import { expect, test } from "vitest";
import { bucketStarts, countRejections, toBars, usageBuckets } from "./usage-buckets.ts";
import type { UsageRange } from "./usage-ranges.ts";

// Tests run in New York time, where daylight saving time began on March 8, 2026.
const now = new Date("2026-03-15T12:34:56Z");
const hourly: UsageRange = { name: "24h", label: "24 hours", bucket: "hour", count: 24 };
const daysOf = (name: "7d" | "30d", count: number): UsageRange => ({
  name,
  label: `${count} days`,
  bucket: "day",
  count,
});
const row = (startsAt: string, outcome: string, count: number) => ({ startsAt, outcome, count });

test("ends with the current hour, or with the current day in the user's time zone", () => {
  const hours = bucketStarts(hourly, now);
  expect(hours).toHaveLength(24);
  expect(hours.at(-1)).toEqual(new Date("2026-03-15T12:00:00Z"));
  const days = bucketStarts(daysOf("30d", 30), now);
  expect(days.at(-1)).toEqual(new Date("2026-03-15T04:00:00Z"));
  expect(days.at(-9)).toEqual(new Date("2026-03-07T05:00:00Z"));
});

test("requests exactly the time range of the bars, in seconds", () => {
  const { starts, to } = usageBuckets(daysOf("7d", 7), now);
  expect(starts).toHaveLength(7);
  expect(starts[0]).toBe(Date.parse("2026-03-09T04:00:00Z") / 1_000);
  expect(to).toBe(Date.parse("2026-03-16T04:00:00Z") / 1_000);
});

test("counts requests by outcome, and includes hours without requests", () => {
  const bars = toBars(
    [
      row("2026-03-15T12:00:00.000Z", "admitted", 7),
      row("2026-03-15T12:00:00.000Z", "limited", 3),
      row("2026-03-15T12:00:00.000Z", "disabled", 1),
      row("2026-03-15T12:00:00.000Z", "one of a later version", 1),
    ],
    hourly,
    now,
  );
  expect(bars.at(-1)).toMatchObject({ admitted: 7, limited: 3, rejected: 2 });
  expect(bars[0]).toMatchObject({ admitted: 0, limited: 0, rejected: 0 });
});

test("counts rejected requests by reason, most frequent first", () => {
  const rows = [
    row("a", "disabled", 1),
    row("a", "admitted", 9),
    row("a", "limited", 3),
    row("b", "address", 4),
    row("b", "disabled", 1),
  ];
  expect(countRejections(rows)).toEqual([
    { outcome: "address", count: 4 },
    { outcome: "disabled", count: 2 },
  ]);
});

test("counts verifications by code, and a check without a use as allowed", () => {
  const counted = ["VALID", "CHECKED", "RATE_LIMITED", "EXPIRED", "USAGE_EXCEEDED"].map((outcome) =>
    row("2026-03-15T12:00:00.000Z", outcome, 2),
  );
  expect(toBars(counted, hourly, now).at(-1)).toMatchObject({ admitted: 4, limited: 2, rejected: 4 });
  expect(countRejections(counted).map(({ outcome }) => outcome)).toEqual(["EXPIRED", "USAGE_EXCEEDED"]);
});
