import { expect, test } from "vitest";
import { describeRejection } from "./describe-rejection.ts";

const failure = {
  message: "Too many sign-in attempts. Try again in 90 seconds.",
  requestId: "req-1",
  issues: [],
};

test("shows when the next attempt is allowed, according to the browser's clock", () => {
  const submittedAt = new Date(2026, 2, 15, 14, 30, 0).getTime();
  const throttled = { ...failure, code: "TOO_MANY_REQUESTS", retryAfterSeconds: 90 } as const;
  expect(describeRejection(throttled, submittedAt)).toMatch(
    /^Too many attempts\. Try again after (14|2):31:31/,
  );
});

test("returns the message of any other failure unchanged", () => {
  const other = { ...failure, code: "SERVICE_UNAVAILABLE", message: "Later.", retryAfterSeconds: 1 } as const;
  expect(describeRejection(other, 0)).toBe("Later.");
});
