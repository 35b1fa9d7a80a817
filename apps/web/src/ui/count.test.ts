import { expect, test } from "vitest";
import { countOf, formatCount } from "./count.ts";

test("marks thousands", () => {
  expect(formatCount(1_204_331)).toBe("1,204,331");
});

test.each([
  [0, "0 keys"],
  [1, "1 key"],
  [2_000, "2,000 keys"],
])("says how many %i are", (count, words) => {
  expect(countOf(count, "key", "keys")).toBe(words);
});
