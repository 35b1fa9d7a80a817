import { expect, test } from "vitest";
import { parseWorkspacesSearch } from "./workspaces-search.ts";

test("parses the search and the order, and omits the default order", () => {
  expect(parseWorkspacesSearch({ q: "pay", sort: "-slug" })).toEqual({ q: "pay", sort: "-slug" });
  expect(parseWorkspacesSearch({ q: " ", sort: "createdAt" })).toEqual({});
});

test.each([{ q: 3 }, { sort: "email" }, { sort: "toString" }])("drops the invalid search %j", (search) => {
  expect(parseWorkspacesSearch(search)).toEqual({});
});
