import { expect, test } from "vitest";
import { parseKeyPageSearch } from "./key-page-search.ts";

test("parses the range, the form to open and the rejected requests to show, and drops invalid values", () => {
  const search = { range: "7d", edit: "restrictions", reason: "no-permission", columns: "reason,time" };
  expect(parseKeyPageSearch({ ...search, page: "2", size: "25" })).toEqual({ ...search, page: 2, size: 25 });
  const invalid = {
    range: "1d",
    edit: "name",
    reason: "<b>",
    page: "1",
    size: "10",
    columns: "<",
    sort: "time",
  };
  expect(parseKeyPageSearch(invalid)).toEqual({});
});
