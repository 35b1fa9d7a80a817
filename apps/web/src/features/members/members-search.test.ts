import { expect, test } from "vitest";
import { parseMembersSearch } from "./members-search.ts";

test("reads search, role and order", () => {
  expect(parseMembersSearch({ q: "grace", role: "admin", sort: "-name" })).toEqual({
    q: "grace",
    role: "admin",
    sort: "-name",
  });
});

test("leaves the usual order out", () => {
  expect(parseMembersSearch({ sort: "joinedAt" })).toEqual({});
});

test.each([{ q: "  " }, { role: "king" }, { role: "toString" }, { sort: "--name" }, { sort: "role" }])(
  "drops %j",
  (search) => {
    expect(parseMembersSearch(search)).toEqual({});
  },
);

test("brings the search down to what the API takes", () => {
  expect(parseMembersSearch({ q: "a".repeat(101) })).toEqual({ q: "a".repeat(100) });
});
