import { expect, test } from "vitest";
import { describeResending } from "./describe-resending.ts";

test.each([true, false])("says where new links are, with email: %s", (sendsEmail) => {
  for (const count of ["one", "several"] as const) {
    const text = describeResending(sendsEmail, count);
    expect(text).toContain("shown here");
    expect(text.includes("emailed")).toBe(sendsEmail);
  }
});
