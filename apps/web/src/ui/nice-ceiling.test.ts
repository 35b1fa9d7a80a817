import { expect, test } from "vitest";
import { niceCeiling } from "./nice-ceiling.ts";

test.each([
  [0, 2],
  [2, 2],
  [3, 4],
  [7, 10],
  [10, 10],
  [11, 12],
  [17, 20],
  [105, 120],
  [59, 60],
  [61, 100],
  [1_284, 1_600],
])("rounds %i up to %i", (value, top) => {
  expect(niceCeiling(value)).toBe(top);
});
