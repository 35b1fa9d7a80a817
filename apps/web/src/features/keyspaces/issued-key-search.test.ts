import { expect, test } from "vitest";
import { parseIssuedKeySearch } from "./issued-key-search.ts";

test("parses the range, the rejections and the changes to show, and drops invalid values", () => {
  const search = { range: "30d", reason: "USAGE_EXCEEDED", columns: "reason,time", changes: "credits" };
  expect(parseIssuedKeySearch({ ...search, page: "2", size: "25" })).toEqual({
    ...search,
    page: 2,
    size: 25,
  });
  expect(parseIssuedKeySearch({ range: "1d", reason: "<b>", page: "1", changes: "all" })).toEqual({});
});
