import { expect, test } from "vitest";
import { policyChangesBetween, policyFormRules, policyValuesOf } from "./policy-values.ts";

const policy = {
  maxLifetimeDays: 90,
  isExpiryRequired: true,
  areIpRangesRequired: false,
  maxIdleDays: null,
  version: 2,
};

test("the values of a policy contain no change", () => {
  expect(policyValuesOf(policy)).toEqual({
    maxLifetimeDays: "90",
    isExpiryRequired: true,
    areIpRangesRequired: false,
    maxIdleDays: "",
  });
  expect(policyChangesBetween(policy, policyValuesOf(policy))).toEqual({});
});

test("only the changed members are sent", () => {
  const values = { ...policyValuesOf(policy), maxLifetimeDays: " ", maxIdleDays: "30" };
  expect(policyChangesBetween(policy, values)).toEqual({ maxLifetimeDays: null, maxIdleDays: 30 });
  expect(policyChangesBetween(policy, { ...policyValuesOf(policy), isExpiryRequired: false })).toEqual({
    isExpiryRequired: false,
  });
});

test.each(["", " ", "1", "90"])("accepts the maximum idle time %j", (text) => {
  expect(policyFormRules.maxIdleDays(text)).toBeNull();
});

test.each(["0", "91", "1.5", "-1", "x", "99999"])("rejects the maximum idle time %j", (text) => {
  expect(policyFormRules.maxIdleDays(text)).toBe(
    "Enter a whole number of days from 1 to 90, or leave empty for no limit.",
  );
});

test("accepts a maximum lifetime of ten years", () => {
  expect(policyFormRules.maxLifetimeDays("3650")).toBeNull();
  expect(policyFormRules.maxLifetimeDays("3651")).toContain("from 1 to 3,650");
});
