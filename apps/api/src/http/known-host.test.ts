import { describe, expect, test } from "vitest";
import { createHostMatcher } from "./known-host.ts";

test.each([
  ["https://keys.example.com", "keys.example.com"],
  ["https://keys.example.com", "Keys.Example.COM"],
  ["https://keys.example.com", "keys.example.com:443"],
  ["http://keys.example.com", "keys.example.com:80"],
  ["https://keys.example.com:8443", "keys.example.com:8443"],
])("%s matches %s", (baseUrl, host) => {
  expect(createHostMatcher(baseUrl)(host)).toBe(true);
});

test.each([
  "evil.example",
  "keys.example.com.evil.example",
  "evil.example:443",
  "keys.example.com:8443",
  "localhost",
  "127.0.0.1",
  "203.0.113.7",
  "[::1]",
  "a b",
  "",
  "user@keys.example.com",
  "keys.example.com/path",
  "keys.example.com#.evil.example",
  "keys.example.com?.evil.example",
  "keys.example.com\\.evil.example",
])("https://keys.example.com doesn't match '%s'", (host) => {
  expect(createHostMatcher("https://keys.example.com")(host)).toBe(false);
});

describe.each([
  "http://127.0.0.1:4000",
  "http://localhost:4000",
  "http://[::1]:4000",
  "http://192.0.2.1:4000",
])("%s", (baseUrl) => {
  const isKnownHost = createHostMatcher(baseUrl);

  test.each(["127.0.0.1:4000", "localhost:4000", "[::1]:4000", "192.0.2.77:4000", "localhost:8080"])(
    "matches %s",
    (host) => expect(isKnownHost(host)).toBe(true),
  );

  test.each(["evil.example:4000", "127.0.0.1.evil.example:4000", "localhost.evil.example:4000", ""])(
    "doesn't match '%s'",
    (host) => expect(isKnownHost(host)).toBe(false),
  );
});
