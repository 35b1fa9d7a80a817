import { expect, test } from "vitest";
import {
  findLastPage,
  maxSelected,
  parseTableSearch,
  readColumns,
  readSelected,
  writeColumns,
  writeSelected,
  writeSort,
} from "./table-search.ts";

const options = { orders: ["name", "createdAt"], defaultSort: "-createdAt" };
const parse = (search: Record<string, unknown>) => parseTableSearch(search, options);

test("parses the search, order, page, page size and columns", () => {
  expect(parse({ q: "ci", sort: "-name", page: "3", size: "50", columns: "name,status" })).toEqual({
    q: "ci",
    sort: "-name",
    page: 3,
    size: 50,
    columns: "name,status",
  });
});

test("drops default and invalid values", () => {
  expect(parse({ q: " ", sort: "-createdAt", page: "1", size: "25" })).toEqual({});
  expect(parse({ q: 3, sort: "owner", page: "x", size: "26", columns: "a b" })).toEqual({});
  expect(parse({ sort: "--name", page: "-1", size: "toString", columns: "" })).toEqual({});
});

test("limits the search and the page number to what the API accepts", () => {
  expect(parse({ q: "x".repeat(101), page: "1000000" })).toEqual({ q: "x".repeat(100), page: 10_000 });
  expect(parse({ q: `${"x".repeat(99)}\u{1F511}` })).toEqual({ q: `${"x".repeat(99)}\uFFFD` });
});

test.each([[undefined], [[]], [["name", "status"]]])("writes and reads the columns %j", (columns) => {
  const written = writeColumns(columns);
  expect(readColumns(written === undefined ? {} : { columns: written })).toEqual(columns);
});

test.each([
  ["a column", "name", undefined, "name"],
  ["the column of the default order", "", undefined, "createdAt"],
  ["the same column again", "-createdAt", "createdAt", undefined],
  ["a column for the third time", "", "-name", undefined],
])("a click on %s changes the order in the URL", (_header, next, current, expected) => {
  expect(writeSort(next, current, options.defaultSort)).toBe(expected);
});

test("returns the last page number, at least 1", () => {
  expect([0, 1, 25, 26].map((total) => findLastPage(total, 25))).toEqual([1, 1, 1, 2]);
});

test("writes as many selected rows as it reads", () => {
  const ids = Array.from({ length: maxSelected + 1 }, (_, number) => `key_${number}`);
  const written = writeSelected(new Set(ids));
  expect([...readSelected(parse({ selected: written }))]).toEqual(ids.slice(0, maxSelected));
  expect(writeSelected(new Set())).toBeUndefined();
});

test("parses the selected rows, and drops anything that isn't a list of IDs", () => {
  expect([...readSelected(parse({ selected: "key_1,key_2" }))]).toEqual(["key_1", "key_2"]);
  expect(readSelected(parse({})).size).toBe(0);
  for (const selected of ["", ",", "a b", `key_1${",key_2".repeat(100)}`, 3])
    expect(parse({ selected })).toEqual({});
});
