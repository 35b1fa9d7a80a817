import { expect, test } from "vitest";
import { parseWorkspacesSearch } from "./workspaces-search.ts";

test("parses the search, the status, the order, the page size and the columns, and omits default values", () => {
  expect(parseWorkspacesSearch({ q: "pay", sort: "-slug" })).toEqual({ q: "pay", sort: "-slug" });
  expect(parseWorkspacesSearch({ size: "25", columns: "slug", page: "2" })).toEqual({
    size: 25,
    columns: "slug",
  });
  expect(parseWorkspacesSearch({ status: "active" })).toEqual({ status: "active" });
  expect(parseWorkspacesSearch({ status: "disabled", sort: "name" })).toEqual({
    status: "disabled",
    sort: "name",
  });
  expect(parseWorkspacesSearch({ q: " ", sort: "createdAt", size: "50" })).toEqual({});
});

test.each(["createdAt", "name", "slug", "memberCount", "keyCount"])(
  "parses the order by %s, in both directions",
  (order) => {
    const descending = { sort: `-${order}` };
    expect(parseWorkspacesSearch(descending)).toEqual(descending);
    const ascending = { sort: order };
    expect(parseWorkspacesSearch(ascending)).toEqual(order === "createdAt" ? {} : ascending);
  },
);

test.each([
  { q: 3 },
  { status: "toString" },
  { sort: "email" },
  { sort: "toString" },
  { sort: "auditEventCount" },
])("drops the invalid search %j", (search) => {
  expect(parseWorkspacesSearch(search)).toEqual({});
});
