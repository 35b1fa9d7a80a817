import { expect, test } from "vitest";
import { cutCompleteKey } from "./key-search.ts";

const random = "0123456789ABCDEFGHIJabcdefghij3GZDtX";

test.each([
  ["a key", `sk_live_${random}`, "sk_live_012345"],
  ["a key with spaces around it", ` sk_live_${random}\n`, "sk_live_012345"],
  ["a key with text behind it", `acme_${random}";`, "acme_012345"],
])("cuts %s where an external ID is expected", (_what, text, start) => {
  expect(cutCompleteKey(text)).toBe(start);
});

test.each([
  ["a short ID", "acme"],
  ["an ID with the prefix of the keyspace", "acme_customer42"],
  ["a UUID", "018f3c1e-7b5a-7c3e-9d2f-0a1b2c3d4e5f"],
  ["a longer ID", `user_${random}0`],
  ["a shorter ID", `user_${random.slice(1)}`],
])("doesn't cut %s", (_what, text) => {
  expect(cutCompleteKey(text)).toBe(text);
});
