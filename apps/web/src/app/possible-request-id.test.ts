import { expect, test } from "vitest";
import { isPossibleRequestId } from "./possible-request-id.ts";

test.each([
  ["0b5e2f2e-6e6c-4b0c-9f0e-2f8f2b6b0c11", true],
  ["req-1234", true],
  ["job/42=", true],
  ["key_01m80n3f6hf0x8w4k6s1r2t3v5", false],
  ["members", false],
  ["robot 12", false],
  ["k8s", false],
  ["1".repeat(129), false],
])("decides whether %s can be a request ID: %s", (text, isLike) => {
  expect(isPossibleRequestId(text)).toBe(isLike);
});
