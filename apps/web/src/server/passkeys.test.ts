import { expect, test } from "vitest";
import { describePasskeyFailure } from "./passkeys.ts";

test("explains what the browser reports", () => {
  const duplicate = Object.assign(new Error("x"), { name: "InvalidStateError" });
  expect(describePasskeyFailure(duplicate).message).toBe(
    "This device already has a passkey of your account.",
  );
  const canceled = Object.assign(new Error("x"), { name: "NotAllowedError" });
  expect(describePasskeyFailure(canceled).message).toBe(
    "No passkey was used. Try again, or choose another way.",
  );
});
