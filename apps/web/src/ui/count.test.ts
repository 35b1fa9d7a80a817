import { expect, test } from "vitest";
import { countOf, formatCount } from "./count.ts";

test("separates thousands", () => {
  expect(formatCount(1_204_331)).toBe("1,204,331");
});

test.each([
  [0, "0 keys"],
  [1, "1 key"],
  [2_000, "2,000 keys"],
])("formats a count of %i with its noun", (count, words) => {
  expect(countOf(count, "key", "keys")).toBe(words);
});
