import { expect, test } from "vitest";
import { type OverlapValues, overlapRules, readOverlapSeconds } from "./overlap-values.ts";

const custom: OverlapValues = { choice: "custom", amount: "90", unit: "60" };

test.each([
  [{ ...custom, choice: "0" }, 0],
  [{ ...custom, choice: "2592000" }, 2_592_000],
  [custom, 5_400],
  [{ ...custom, unit: "1" }, 90],
  [{ ...custom, amount: "12", unit: "3600" }, 43_200],
  [{ ...custom, amount: " 12 ", unit: "3600" }, 43_200],
  [{ ...custom, amount: "30", unit: "86400" }, 2_592_000],
] as const)("reads %j as %i seconds", (values, seconds) => {
  expect(overlapRules.amount(values.amount, values)).toBeNull();
  expect(readOverlapSeconds(values)).toBe(seconds);
});

test.each([
  ["", "60", "Enter a whole number of minutes from 0 to 43,200."],
  ["2592001", "1", "Enter a whole number of seconds from 0 to 2,592,000."],
  ["43201", "60", "Enter a whole number of minutes from 0 to 43,200."],
  ["1.5", "3600", "Enter a whole number of hours from 0 to 720."],
  ["-1", "86400", "Enter a whole number of days from 0 to 30."],
  ["31", "86400", "Enter a whole number of days from 0 to 30."],
] as const)("rejects %j with the unit of %s seconds", (amount, unit, message) => {
  expect(overlapRules.amount(amount, { choice: "custom", amount, unit })).toBe(message);
  expect(overlapRules.amount(amount, { choice: "3600", amount, unit })).toBeNull();
});
