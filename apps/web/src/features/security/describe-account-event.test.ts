import { expect, test } from "vitest";
import { describeAccountEvent } from "./describe-account-event.ts";

test("says that a value wasn't recorded instead of quoting a placeholder", () => {
  const event = { action: "account.renamed", before: null, after: { name: "Ada" }, device: null } as const;
  expect(describeAccountEvent(event)).toEqual([
    "Changed your name from ",
    "a value that wasn’t recorded",
    " to ",
    { name: "“Ada”" },
  ]);
});
