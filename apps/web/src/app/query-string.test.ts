import { expect, test } from "vitest";
import { parseQuery, stringifyQuery } from "./query-string.ts";

test("keeps numbers and JSON as text", () => {
  expect(parseQuery("?q=123&page=2&x=%7B%7D")).toEqual({ q: "123", page: "2", x: "{}" });
});

test("omits absent and empty parameters", () => {
  expect(stringifyQuery({ q: "", page: undefined, next: "/w/a?q=b&c" })).toBe("?next=%2Fw%2Fa%3Fq%3Db%26c");
  expect(stringifyQuery({})).toBe("");
});

test("parses what it wrote to the same values", () => {
  const search = { q: "a+b & c=d", page: "3" };
  expect(parseQuery(stringifyQuery(search))).toEqual(search);
});
