import { expect, test } from "vitest";
import { parseInvitationsSearch } from "./invitations-search.ts";

test("parses order, columns, page size and selection", () => {
  const search = { sort: "-email", columns: "none", size: "10", selected: "inv_1" };
  expect(parseInvitationsSearch(search)).toEqual({ ...search, size: 10 });
});

test.each(["pending", "expired", "invalid"])("parses the search and the status %s", (status) => {
  expect(parseInvitationsSearch({ q: "grace", status })).toEqual({ q: "grace", status });
});

test("drops what the list doesn't have, and default values", () => {
  expect(parseInvitationsSearch({ sort: "createdAt", size: "50", q: " ", page: "2" })).toEqual({});
  expect(parseInvitationsSearch({ sort: "role", size: "7", selected: "<b>" })).toEqual({});
  for (const status of ["accepted", "toString", 1, ["pending"]])
    expect(parseInvitationsSearch({ status })).toEqual({});
});
