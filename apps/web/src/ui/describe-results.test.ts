import { expect, test } from "vitest";
import { describeLogCount, describePart, describeResults } from "./describe-results.ts";

test.each([
  [{ page: 1, size: 25, total: 1 }, "1 key"],
  [{ page: 1, size: 25, total: 25 }, "25 keys"],
  [{ page: 2, size: 25, total: 31 }, "26–31 of 31 keys"],
])("describes the page %j as %j", (page, text) => {
  expect(describeResults(page, "key", "keys")).toBe(text);
});

test("a list whose number of items is unknown doesn't claim to show the latest", () => {
  expect(describePart(1, false, ["key", "keys"])).toBe("1 key");
  expect(describePart(50, false, ["key", "keys"])).toBe("50 keys");
  expect(describePart(1_000, true, ["key", "keys"])).toBe("1,000+ keys");
});

test("a log shows its latest or its oldest entries", () => {
  expect(describeLogCount(50, true, {})).toBe("The latest 50 events");
  expect(describeLogCount(50, true, { sort: "occurredAt" })).toBe("The oldest 50 events");
  expect(describeLogCount(2, false, {})).toBe("2 events");
});
