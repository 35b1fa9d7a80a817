import { expect, test } from "vitest";
import { parseUsersSearch } from "./users-search.ts";

test("parses the search and the order, and omits the default order", () => {
  expect(parseUsersSearch({ q: "ada", sort: "-name" })).toEqual({ q: "ada", sort: "-name" });
  expect(parseUsersSearch({ q: " ", sort: "createdAt" })).toEqual({});
});

test.each([{ q: 3 }, { sort: "password" }, { sort: "toString" }])("drops the invalid search %j", (search) => {
  expect(parseUsersSearch(search)).toEqual({});
});
