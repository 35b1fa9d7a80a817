import { expect, test } from "vitest";
import { apiKeyRules, tidied } from "./api-key-values.ts";

test("asks for a name that is more than spaces, of at most 100 characters", () => {
  expect(apiKeyRules.name(" \u00a0\t")).toBe("Enter a name, for example the service that uses the key.");
  expect(apiKeyRules.name("a".repeat(100))).toBeNull();
  expect(apiKeyRules.name("a".repeat(101))).toBe("Use at most 100 characters; these are 101.");
});

test("takes a description of at most 500 characters, or none", () => {
  expect(apiKeyRules.description("")).toBeNull();
  expect(apiKeyRules.description("a".repeat(501))).toBe("Use at most 500 characters; these are 501.");
});

test("makes one space of pasted tabs and no-break spaces, but keeps the lines of a description", () => {
  expect(tidied({ name: " Nightly\u00a0\t backup\n", description: "Line 1\nLine 2 " })).toEqual({
    name: "Nightly backup",
    description: "Line 1\nLine 2",
  });
});
