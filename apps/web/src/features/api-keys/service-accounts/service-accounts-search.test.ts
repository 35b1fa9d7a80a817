import { expect, test } from "vitest";
import { parseServiceAccountKeysSearch, parseServiceAccountsSearch } from "./service-accounts-search.ts";

test("parses the search, the order, the page size and the columns, and omits default values", () => {
  expect(parseServiceAccountsSearch({ q: "deploy", sort: "-name", selected: "usr_1" })).toEqual({
    q: "deploy",
    sort: "-name",
    selected: "usr_1",
  });
  expect(parseServiceAccountsSearch({ size: "25", columns: "role", page: "2" })).toEqual({
    size: 25,
    columns: "role",
  });
  expect(parseServiceAccountsSearch({ q: " ", sort: "joinedAt", size: "50" })).toEqual({});
});

test.each([{ q: 3 }, { sort: "email" }, { sort: "toString" }])("drops the invalid search %j", (search) => {
  expect(parseServiceAccountsSearch(search)).toEqual({});
});

test("parses the page, the filters, the order, the page size and the columns of the keys of a service account", () => {
  const filters = { q: "x", status: "disabled" };
  const table = { page: "2", sort: "name", size: "10", columns: "status" };
  expect(parseServiceAccountKeysSearch({ ...filters, ...table })).toEqual({
    ...filters,
    page: 2,
    sort: "name",
    size: 10,
    columns: "status",
  });
  const defaults = { page: "1", sort: "-createdAt", size: "50", q: " " };
  expect(parseServiceAccountKeysSearch({ ...defaults, status: "gone", selected: "key_1" })).toEqual({});
});
