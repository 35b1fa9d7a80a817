import { expect, test } from "vitest";
import { parseKeyPageSearch } from "./key-page-search.ts";

test("parses the range, the form to open and the rejected requests to show, and drops invalid values", () => {
  const search = { range: "7d", edit: "restrictions", reason: "no-permission" };
  expect(parseKeyPageSearch({ ...search, page: "2" })).toEqual({ ...search, page: 2 });
  expect(parseKeyPageSearch({ range: "1d", edit: "name", reason: "<b>", page: "1" })).toEqual({});
});
