import { expect, test } from "vitest";
import { parseInvitationsSearch } from "./invitations-search.ts";

test("parses order, columns, page size and selection", () => {
  const search = { sort: "-email", columns: "none", size: "10", selected: "inv_1" };
  expect(parseInvitationsSearch(search)).toEqual({ ...search, size: 10 });
});

test("drops what the list doesn't have, and default values", () => {
  expect(parseInvitationsSearch({ sort: "createdAt", size: "50", q: "grace", page: "2" })).toEqual({});
  expect(parseInvitationsSearch({ sort: "role", size: "7", selected: "<b>" })).toEqual({});
});
