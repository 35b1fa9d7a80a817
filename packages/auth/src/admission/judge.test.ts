import type { KeyId, UserId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { judge, type KeyFacts } from "./judge.ts";

const good: KeyFacts = {
  keyId: "k" as KeyId,
  userId: "u" as UserId,
  version: 1,
  isDeleted: false,
  isUserDisabled: false,
  roles: new Map(),
};

test.each([
  ["a live key of a live user", {}, { kind: "allowed" }],
  ["a deleted key", { isDeleted: true }, { kind: "refused", reason: "deleted" }],
  ["a disabled user's key", { isUserDisabled: true }, { kind: "refused", reason: "user-disabled" }],
  [
    "a disabled user's deleted key",
    { isDeleted: true, isUserDisabled: true },
    { kind: "refused", reason: "deleted" },
  ],
] as const)("judges %s", (_what, change, judgement) => {
  expect(judge({ ...good, ...change })).toEqual(judgement);
});
