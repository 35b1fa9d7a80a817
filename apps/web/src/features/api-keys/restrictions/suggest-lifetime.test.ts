import { expect, test } from "vitest";
import { suggestLifetime } from "./suggest-lifetime.ts";

const policy = {
  maxLifetimeDays: null,
  isExpiryRequired: true,
  areIpRangesRequired: false,
  maxIdleDays: null,
};
const expiryRequired = { violation: "expiry-required", policy } as const;
const within = (maxLifetimeDays: number) =>
  ({ violation: "max-lifetime", policy: { ...policy, maxLifetimeDays } }) as const;

test("suggests the longest lifetime of the form that all policies allow", () => {
  expect(suggestLifetime([expiryRequired])).toBe("7776000");
  expect(suggestLifetime([within(90)])).toBe("7776000");
  expect(suggestLifetime([within(89)])).toBe("2592000");
  expect(suggestLifetime([within(30), expiryRequired, within(7)])).toBe("604800");
  expect(suggestLifetime([{ ...within(7), violation: "expiry-required" }])).toBe("604800");
});

test("suggests nothing if the expiry isn't what policies reject", () => {
  expect(suggestLifetime([])).toBeUndefined();
  expect(suggestLifetime([{ ...within(7), violation: "ip-ranges-required" }])).toBeUndefined();
});
