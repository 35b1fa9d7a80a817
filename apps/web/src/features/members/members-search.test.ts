import { expect, test } from "vitest";
import { parseMembersSearch } from "./members-search.ts";

test("parses search, role and order", () => {
  expect(parseMembersSearch({ q: "grace", role: "admin", sort: "-name" })).toEqual({
    q: "grace",
    role: "admin",
    sort: "-name",
  });
});

test("omits the default order", () => {
  expect(parseMembersSearch({ sort: "joinedAt" })).toEqual({});
});

test.each([{ q: "  " }, { role: "king" }, { role: "toString" }, { sort: "--name" }, { sort: "role" }])(
  "drops the invalid search %j",
  (search) => {
    expect(parseMembersSearch(search)).toEqual({});
  },
);

test("truncates the search to the maximum length of the API", () => {
  expect(parseMembersSearch({ q: "a".repeat(101) })).toEqual({ q: "a".repeat(100) });
});

test("parses columns, page size and selection, and omits the default page size", () => {
  const search = { columns: "email,role", size: "100", selected: "usr_1,usr_2" };
  expect(parseMembersSearch(search)).toEqual({ ...search, size: 100 });
  expect(parseMembersSearch({ size: "50", page: "2" })).toEqual({});
});
