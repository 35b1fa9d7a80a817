import { expect, test } from "vitest";
import { parseKeyPageSearch } from "./key-page-search.ts";

test("parses the range and the form to open, and drops invalid values", () => {
  expect(parseKeyPageSearch({ range: "7d", edit: "restrictions" })).toEqual({
    range: "7d",
    edit: "restrictions",
  });
  expect(parseKeyPageSearch({ range: "1d", edit: "name" })).toEqual({});
});
