import { expect, test } from "vitest";
import { checkEmail, checkName, checkNewPassword } from "./field-rules.ts";

test("asks for a password of 12 to 128 characters", () => {
  expect(checkNewPassword("")).toBe("Choose a password.");
  expect(checkNewPassword("a".repeat(11))).toBe("Use at least 12 characters; these are 11.");
  expect(checkNewPassword("a".repeat(12))).toBeNull();
  expect(checkNewPassword("a".repeat(128))).toBeNull();
  expect(checkNewPassword("a".repeat(129))).toBe("Use at most 128 characters; these are 129.");
});

test("counts a password as the server does, an emoji as two", () => {
  expect(checkNewPassword("🔑".repeat(6))).toBeNull();
  expect(checkNewPassword("🔑".repeat(65))).toBe("Use at most 128 characters; these are 130.");
});

test("asks for a name that is more than spaces", () => {
  expect(checkName("  ")).toBe("Enter your name.");
  expect(checkName("Ada")).toBeNull();
});

test("asks for an address with a part on both sides of the @", () => {
  expect(checkEmail("ada")).not.toBeNull();
  expect(checkEmail("ada@")).not.toBeNull();
  expect(checkEmail(" ada@example.com ")).toBeNull();
});
