import { expect, test } from "vitest";
import { parseApiKeysSearch, toQuery } from "./api-keys-search.ts";

test("parses a status and a dialog, and drops unknown values", () => {
  expect(parseApiKeysSearch({ q: "ci", status: "disabled", dialog: "new" })).toEqual({
    q: "ci",
    status: "disabled",
    dialog: "new",
  });
  expect(parseApiKeysSearch({ status: "gone", dialog: "old" })).toEqual({});
});

test("requests the newest keys by default", () => {
  expect(toQuery({})).toEqual({ page: 1, pageSize: 25 });
  expect(toQuery({ q: "ci", sort: "usageCount", page: 2, size: 50, status: "unused" })).toEqual({
    search: "ci",
    sort: "usageCount",
    direction: "asc",
    page: 2,
    pageSize: 50,
    status: "unused",
  });
});
