import { expect, test } from "vitest";
import { parseUsageRange } from "./usage-ranges.ts";

test("reads the range from the URL, and drops anything else", () => {
  expect(parseUsageRange({ range: "7d" })).toEqual({ range: "7d" });
  expect(parseUsageRange({ range: "24h" })).toEqual({});
  expect(parseUsageRange({ range: "9y" })).toEqual({});
});
