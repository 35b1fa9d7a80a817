import { expect, test } from "vitest";
import { describeRemedy, describeRule, violationTitles } from "./describe-violation.ts";

const policy = { maxLifetimeDays: 90, maxIdleDays: 1 };

test.each([
  [
    "second-factor-required",
    "must belong to a member with a second factor",
    "Set up a second factor for your account",
  ],
  ["expiry-required", "must expire", "set an expiry"],
  ["max-lifetime", "must expire within 90 days of their creation or last rotation", "set an earlier expiry"],
  ["ip-ranges-required", "must be restricted to IP ranges", "set IP ranges"],
  ["idle", "must be used here at least once every day", "Ask an owner or admin"],
] as const)("describes the rule %s and its remedy", (violation, rule, remedy) => {
  expect(describeRule(violation, policy)).toBe(rule);
  expect(describeRemedy(violation)).toContain(remedy);
  expect(violationTitles[violation]).not.toBe("");
});
