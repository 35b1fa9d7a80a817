import { expect, test } from "vitest";
import type { IssuedKey, Keyspace } from "../../server/trpc.ts";
import { describeIssuedStatus } from "./keyspace-status.ts";
import { emptyKeyspace, fieldsOfKeyspace, keyspaceRules, valuesOfKeyspace } from "./keyspace-values.ts";
import { verifyCommand } from "./verify-command.ts";

const fields = {
  name: "Production",
  prefix: "sk_live",
  environment: "production",
  defaultLifetimeDays: 365,
  defaultPermissions: ["documents.read"],
  defaultLimits: [{ name: "requests", quota: 100, windowSeconds: 3_600, appliesAlways: true }],
  defaultCredits: { remaining: 10, refill: { amount: 10, interval: "daily", day: null } },
};

test("an unchanged form has the fields of the keyspace", () => {
  expect(fieldsOfKeyspace(valuesOfKeyspace(fields as Keyspace))).toEqual(fields); // The others are not in the form.
  expect(fieldsOfKeyspace({ ...emptyKeyspace, name: " A ", prefix: " sk " })).toEqual({
    name: "A",
    prefix: "sk",
    environment: "",
    defaultLifetimeDays: null,
    defaultPermissions: [],
    defaultLimits: [],
    defaultCredits: null,
  });
});

test("names what is wrong with a name, a prefix and a lifetime", () => {
  expect(keyspaceRules.name(" ")).toBe("Enter a name.");
  expect(keyspaceRules.prefix("sk_live")).toBeNull();
  expect(keyspaceRules.prefix("Sk")).toContain("lower-case letters");
  expect(keyspaceRules.prefix("s")).toContain("at least 2");
  for (const prefix of ["lk", "lk_live"]) expect(keyspaceRules.prefix(prefix)).toContain("Only API keys do");
  expect(keyspaceRules.prefix("lkx")).toBeNull();
  expect(keyspaceRules.prefix("a".repeat(17))).toContain("at most 16");
  expect(keyspaceRules.lifetimeDays("")).toBeNull();
  expect(keyspaceRules.lifetimeDays(" 365 ")).toBeNull();
  expect(fieldsOfKeyspace({ ...emptyKeyspace, lifetimeDays: " 365 " }).defaultLifetimeDays).toBe(365);
  expect(keyspaceRules.lifetimeDays(" ")).toBeNull();
  expect(fieldsOfKeyspace({ ...emptyKeyspace, lifetimeDays: " " }).defaultLifetimeDays).toBeNull();
  expect(keyspaceRules.lifetimeDays("3651")).toContain("3,650 (10 years)");
});

test("describes the status of a key", () => {
  const now = new Date("2027-01-01T00:00:00Z");
  const labels = (change: Partial<IssuedKey>) => {
    const key = { isDisabled: false, expiresAt: null, status: "active", formerSecrets: [], ...change };
    return describeIssuedStatus(key as unknown as IssuedKey, now).map(({ label }) => label);
  };
  expect(labels({})).toEqual(["Active"]);
  expect(labels({ isDisabled: true })).toEqual(["Disabled"]);
  expect(labels({ expiresAt: "2026-12-31T00:00:00Z" })).toEqual(["Expired"]);
  expect(labels({ status: "out-of-credits" })).toEqual(["Out of credits"]);
  const former = { start: "sk", retiredAt: "2026-12-31T00:00:00Z", goodUntil: "2027-01-02T00:00:00Z" };
  expect(labels({ expiresAt: "2027-01-03T00:00:00Z", formerSecrets: [former] })).toEqual([
    "Expires in 2 days",
    "Rotating",
  ]);
});

test("the command that verifies a key can be pasted into a shell", () => {
  expect(verifyCommand("https://keys.example.com", "sk_live_1")).toBe(
    `curl https://keys.example.com/open/keys/verify -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" -d '{"key":"sk_live_1"}'`,
  );
});
