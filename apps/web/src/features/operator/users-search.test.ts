import { expect, test } from "vitest";
import { parseUsersSearch } from "./users-search.ts";

test("parses the search, the order, the page size and the columns, and omits default values", () => {
  expect(parseUsersSearch({ q: "ada", sort: "-name", selected: "usr_1" })).toEqual({
    q: "ada",
    sort: "-name",
    selected: "usr_1",
  });
  expect(parseUsersSearch({ size: "25", columns: "email", page: "2" })).toEqual({
    size: 25,
    columns: "email",
  });
  expect(parseUsersSearch({ status: "disabled", role: "operator" })).toEqual({
    status: "disabled",
    role: "operator",
  });
  expect(parseUsersSearch({ q: " ", sort: "createdAt", size: "50" })).toEqual({});
});

test.each([{ q: 3 }, { status: "gone" }, { role: "admin" }, { sort: "password" }, { sort: "toString" }])(
  "drops the invalid search %j",
  (search) => {
    expect(parseUsersSearch(search)).toEqual({});
  },
);
