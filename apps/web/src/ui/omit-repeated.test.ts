import { expect, test } from "vitest";
import { omitRepeated } from "./omit-repeated.ts";

test("keeps the first of the items with the same ID, and the order of the others", () => {
  const items = ["a1", "b1", "c1", "b2", "d1", "a2"];
  expect(omitRepeated(items, (item) => item.charAt(0))).toEqual(["a1", "b1", "c1", "d1"]);
  expect(omitRepeated([], (item) => item)).toEqual([]);
});
