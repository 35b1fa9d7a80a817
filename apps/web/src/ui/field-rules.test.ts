import { expect, test } from "vitest";
import { checkEmail, checkName, checkNewPassword } from "./field-rules.ts";

test("requires a password of 12 to 128 characters", () => {
  expect(checkNewPassword("")).toBe("Choose a password.");
  expect(checkNewPassword("a".repeat(11))).toBe("Use at least 12 characters. You entered 11.");
  expect(checkNewPassword("a".repeat(12))).toBeNull();
  expect(checkNewPassword("a".repeat(128))).toBeNull();
  expect(checkNewPassword("a".repeat(129))).toBe("Use at most 128 characters. You entered 129.");
});

test("counts Unicode code points, as the server does", () => {
  expect(checkNewPassword("🔑".repeat(11))).toBe("Use at least 12 characters. You entered 11.");
  expect(checkNewPassword("🔑".repeat(12))).toBeNull();
  expect(checkNewPassword("🔑".repeat(128))).toBeNull();
  expect(checkNewPassword("🔑".repeat(129))).toBe("Use at most 128 characters. You entered 129.");
});

test("rejects a blank name", () => {
  expect(checkName("  ")).toBe("Enter your name.");
  expect(checkName("Ada")).toBeNull();
});

test("requires text on both sides of the @", () => {
  expect(checkEmail("ada")).not.toBeNull();
  expect(checkEmail("ada@")).not.toBeNull();
  expect(checkEmail(" ada@example.com ")).toBeNull();
});
