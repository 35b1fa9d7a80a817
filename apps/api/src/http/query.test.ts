import { describe, expect, test } from "vitest";
import { maxQueryBytes, maxQueryParameters, parseQuery } from "./query.ts";

describe("parseQuery", () => {
  test.each([
    ["/open/me", {}],
    ["/open/me?", {}],
    ["/open/me?a", { a: "" }],
    ["/open/me?a=1&b=2", { a: "1", b: "2" }],
    ["/open/me?a=1&a=2&a=3", { a: ["1", "2", "3"] }],
    ["/open/me?a=b+c%20d%26", { a: "b c d&" }],
    ["/open/me?a=b?c=d", { a: "b?c=d" }],
    ["/open/me?a=b#?c=d", { a: "b" }],
    ["/open/me?&&a=1&", { a: "1" }],
    ["http://host.example/open/me?a=1", { a: "1" }],
  ])("parses %s", (target, parameters) => {
    expect(parseQuery(target)).toEqual(parameters);
  });

  test("treats __proto__ as a parameter", () => {
    expect(Object.entries(parseQuery("/?__proto__=1"))).toEqual([["__proto__", "1"]]);
  });

  test("accepts a query string of the maximum length and rejects one byte more", () => {
    const value = "x".repeat(maxQueryBytes - "a=".length);
    expect(parseQuery(`/?a=${value}`)).toEqual({ a: value });
    expect(() => parseQuery(`/?a=${value}x`)).toThrow("The query string is too long");
  });

  test("accepts the maximum number of parameters and rejects one more", () => {
    const parameters = Array.from({ length: maxQueryParameters }, (_, index) => `p${index}=`);
    expect(Object.keys(parseQuery(`/?${parameters.join("&")}`))).toHaveLength(maxQueryParameters);
    expect(() => parseQuery(`/?${parameters.join("&")}&a`)).toThrow(
      "The query string has too many parameters",
    );
  });
});
