import { expect, test } from "vitest";
import { findSameOriginPath } from "./same-origin-path.ts";

const origin = "https://keys.example.com";

test.each(["/", "/w/acme", "/account/api-keys?q=a&page=2", "/a#b"])("accepts %s", (path) => {
  expect(findSameOriginPath(path, origin)).toBe(path);
});

test.each([
  undefined,
  7,
  "",
  "w/acme",
  "//evil.example",
  "/\\evil.example",
  "/\t/evil.example",
  "/\n\\evil.example",
  "/.//evil.example",
  "/./\\evil.example",
  "/..//evil.example",
  "/x/..//evil.example",
  "https://evil.example",
  "https://keys.example.com/w",
  "javascript:alert(1)",
])("rejects %j", (value) => {
  expect(findSameOriginPath(value, origin)).toBeUndefined();
});
