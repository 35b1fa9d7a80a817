import { expect, test } from "vitest";
import { bucketStarts, countRefusals, parseKeyPageSearch, toBars, usagePeriod } from "./usage.ts";

const now = new Date("2026-03-15T12:34:56Z");
const row = (startsAt: string, outcome: string, count: number) => ({
  startsAt,
  outcome,
  count,
  workspaceId: null,
});

test("ends with the hour or the day that it is, in UTC", () => {
  const hours = bucketStarts("24h", now);
  expect(hours).toHaveLength(24);
  expect(hours.at(-1)).toEqual(new Date("2026-03-15T12:00:00Z"));
  expect(bucketStarts("7d", now)[0]).toEqual(new Date("2026-03-09T00:00:00Z"));
});

test("asks for what fills the bars, no more", () => {
  expect(usagePeriod("7d", now)).toEqual({
    from: "2026-03-09T00:00:00.000Z",
    to: "2026-03-16T00:00:00.000Z",
    bucket: "day",
  });
});

test("stacks by outcome over all workspaces, and leaves quiet hours empty", () => {
  const bars = toBars(
    [
      row("2026-03-15T12:00:00.000Z", "admitted", 5),
      { ...row("2026-03-15T12:00:00.000Z", "admitted", 2), workspaceId: "ws_01" },
      row("2026-03-15T12:00:00.000Z", "limited", 3),
      row("2026-03-15T12:00:00.000Z", "disabled", 1),
      row("2026-03-15T12:00:00.000Z", "one of a later version", 1),
    ],
    "24h",
    now,
  );
  expect(bars.at(-1)).toMatchObject({ admitted: 7, limited: 3, refused: 2 });
  expect(bars[0]).toMatchObject({ admitted: 0, limited: 0, refused: 0 });
});

test("counts what was not let in by why, the most frequent first", () => {
  const rows = [
    row("a", "disabled", 1),
    row("a", "admitted", 9),
    row("b", "address", 4),
    row("b", "disabled", 1),
  ];
  expect(countRefusals(rows)).toEqual([
    { outcome: "address", count: 4 },
    { outcome: "disabled", count: 2 },
  ]);
});

test("reads the range from the address, and drops what is none", () => {
  expect(parseKeyPageSearch({ range: "7d" })).toEqual({ range: "7d" });
  expect(parseKeyPageSearch({ range: "24h" })).toEqual({});
  expect(parseKeyPageSearch({ range: "9y" })).toEqual({});
});
