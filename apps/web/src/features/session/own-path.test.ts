import { expect, test } from "vitest";
import { findOwnPath } from "./own-path.ts";

const origin = "https://keys.example.com";

test.each(["/", "/w/acme", "/account/api-keys?q=a&page=2", "/a#b"])("accepts %s", (path) => {
  expect(findOwnPath(path, origin)).toBe(path);
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
])("refuses %j", (value) => {
  expect(findOwnPath(value, origin)).toBeUndefined();
});
