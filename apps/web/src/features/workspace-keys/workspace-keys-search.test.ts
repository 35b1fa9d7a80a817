import { expect, test } from "vitest";
import { parseWorkspaceKeysSearch, toQuery } from "./workspace-keys-search.ts";

test("parses a status, and drops an unknown one", () => {
  expect(parseWorkspaceKeysSearch({ status: "expiring", sort: "owner" })).toEqual({
    status: "expiring",
    sort: "owner",
  });
  expect(parseWorkspaceKeysSearch({ status: "gone" })).toEqual({});
});

test("requests the newest keys by default", () => {
  expect(toQuery({})).toEqual({ sort: "createdAt", direction: "desc" });
  expect(toQuery({ q: "ci", sort: "name", page: 2, size: 50, status: "unused" })).toEqual({
    search: "ci",
    sort: "name",
    direction: "asc",
    page: 2,
    pageSize: 50,
    status: "unused",
  });
});
