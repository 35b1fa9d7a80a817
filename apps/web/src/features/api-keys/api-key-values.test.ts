import { expect, test } from "vitest";
import { apiKeyRules, normalizeValues } from "./api-key-values.ts";

test("rejects a blank name and a name of more than 100 characters", () => {
  expect(apiKeyRules.name(" \u00a0\t")).toBe("Enter a name, such as the service that uses the key.");
  expect(apiKeyRules.name("a".repeat(100))).toBeNull();
  expect(apiKeyRules.name("a".repeat(101))).toBe("Use at most 100 characters. You entered 101.");
  // An emoji of two UTF-16 code units is one character.
  expect(apiKeyRules.name("🔑".repeat(100))).toBeNull();
  expect(apiKeyRules.name("🔑".repeat(101))).toBe("Use at most 100 characters. You entered 101.");
});

test("accepts an empty description and rejects one of more than 500 characters", () => {
  expect(apiKeyRules.description("")).toBeNull();
  expect(apiKeyRules.description("a".repeat(501))).toBe("Use at most 500 characters. You entered 501.");
  expect(apiKeyRules.description("🔑".repeat(500))).toBeNull();
});

test("collapses whitespace in the name and keeps line breaks in the description", () => {
  expect(normalizeValues({ name: " Nightly\u00a0\t backup\n", description: "Line 1\nLine 2 " })).toEqual({
    name: "Nightly backup",
    description: "Line 1\nLine 2",
  });
});
