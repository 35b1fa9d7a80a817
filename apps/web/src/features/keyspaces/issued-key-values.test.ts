import { expect, test } from "vitest";
import type { IssuedKey, Keyspace } from "../../server/trpc.ts";
import { keepInput } from "../../ui/keep-input.ts";
import { creditsRules, describeCredits, toCredits } from "./credits-values.ts";
import {
  changesOfKey,
  fieldsOfKey,
  issuedKeyRules,
  keySettings,
  valuesOfKey,
  valuesOfNewKey,
} from "./issued-key-values.ts";
import { describeNamedLimit, emptyLimit, limitRules, toLimits } from "./limit-values.ts";
import { describePermissionError } from "./permission-lines.ts";

const key = {
  name: "Acme",
  externalId: "customer_42",
  permissions: ["documents.read", "reports.*"],
  limits: [
    { name: "requests", quota: 100, windowSeconds: 60, appliesAlways: true },
    { name: "exports", quota: 5, windowSeconds: 90, appliesAlways: false },
  ],
  credits: { remaining: 12, refill: { amount: 100, interval: "monthly", day: 31 } },
  expiresAt: "2027-03-01T00:00:00.000Z",
  ipRanges: ["203.0.113.0/24"],
  meta: { plan: "pro" },
} as unknown as IssuedKey; // The other fields are not in the form.

test("an unchanged form changes nothing", () => {
  const values = valuesOfKey(key);
  const { expiresAt: _expiresAt, ...fields } = key;
  expect(fieldsOfKey(values)).toEqual(fields);
  expect(changesOfKey(fieldsOfKey(values), fieldsOfKey(values))).toEqual({});
});

test("sends only the fields that were changed, and null for those that were cleared", () => {
  const values = valuesOfKey(key);
  const before = fieldsOfKey(values);
  const edited = {
    ...values,
    externalId: " ",
    ipRanges: "",
    credits: "",
    expiry: "never",
    meta: "",
  } as const;
  expect(changesOfKey(before, fieldsOfKey(edited))).toEqual({
    externalId: null,
    ipRanges: null,
    credits: null,
    expiresAt: null,
    meta: {},
  });
});

test("a refill that was edited before a conflict is kept without the balance, which uses have changed", () => {
  const base = valuesOfKey(key);
  const input = { ...base, refillAmount: "200" };
  const latest = { ...base, name: "ACME", credits: "7", refill: "daily" } as const;
  const kept = keepInput({ base, input, latest, groups: keySettings });
  expect(kept).toEqual({ ...input, name: "ACME", credits: "7" });
  expect(changesOfKey(fieldsOfKey(latest), fieldsOfKey(kept))).toEqual({
    credits: { refill: { amount: 200, interval: "monthly", day: 31 } },
  });
});

test("sends the balance only if it was changed, because uses change it too", () => {
  const values = valuesOfKey(key);
  const changesOf = (edit: object) => changesOfKey(fieldsOfKey(values), fieldsOfKey({ ...values, ...edit }));
  const refill = { amount: 200, interval: "monthly", day: 31 };
  expect(changesOf({ refillAmount: "200" })).toEqual({ credits: { refill } });
  expect(changesOf({ credits: "13" })).toEqual({ credits: { remaining: 13 } });
  expect(changesOf({ credits: "13", refill: "never" })).toEqual({ credits: { remaining: 13, refill: null } });
  const unlimited = valuesOfKey({ ...key, credits: null });
  const added = { ...unlimited, credits: "5" };
  expect(changesOfKey(fieldsOfKey(unlimited), fieldsOfKey(added))).toEqual({
    credits: { remaining: 5, refill: null },
  });
});

test("a new key starts with the defaults of its keyspace, and leaves the lifetime to the server", () => {
  const keyspace = {
    defaultLifetimeDays: 365,
    defaultPermissions: ["documents.read"],
    defaultLimits: key.limits,
    defaultCredits: { remaining: 10, refill: null },
  } as unknown as Keyspace; // The other fields are not defaults.
  const fields = fieldsOfKey(valuesOfNewKey(keyspace));
  expect(fields).toEqual({
    name: "",
    externalId: null,
    permissions: ["documents.read"],
    limits: key.limits,
    credits: { remaining: 10, refill: null },
    ipRanges: null,
    meta: {},
  });
  const weekly = { ...valuesOfNewKey(keyspace), expiry: "604800" } as const;
  expect(fieldsOfKey(weekly).expiresAt).toEqual({ inSeconds: 604_800 });
});

test("sends a lifetime as a duration and a date as a time, because the clock of a browser can be wrong", () => {
  const values = valuesOfKey(key);
  const before = fieldsOfKey(values);
  const monthly = fieldsOfKey({ ...values, expiry: "2592000" });
  expect(changesOfKey(before, monthly)).toEqual({ expiresAt: { inSeconds: 2_592_000 } });
  const dated = fieldsOfKey({ ...values, expiry: "date", expiryDate: "2027-07-01T12:00" });
  // Noon in New York.
  expect(changesOfKey(before, dated)).toEqual({ expiresAt: "2027-07-01T16:00:00.000Z" });
});

test("names what is wrong with permissions, metadata and an expiry", () => {
  expect(describePermissionError("documents.read, org:Documents.*, reports.*\n*")).toBeNull();
  expect(describePermissionError("documents.read documents/write")).toContain("“documents/write”");
  expect(describePermissionError("a.*.b")).toContain("“a.*.b”");
  expect(issuedKeyRules.meta("")).toBeNull();
  expect(issuedKeyRules.meta('{ "plan": "pro" }')).toBeNull();
  for (const text of ["plan", "[1]", "null", '"text"'])
    expect(issuedKeyRules.meta(text)).toContain("Enter a JSON object");
  expect(issuedKeyRules.meta(JSON.stringify({ text: "é".repeat(2_100) }))).toContain("at most 4,096 bytes");
  const values = valuesOfKey(key);
  expect(issuedKeyRules.expiryDate("", values)).toBeNull();
  expect(issuedKeyRules.expiryDate("", { ...values, expiry: "date" })).toBe("Enter a date and a time.");
});

test("names what is wrong with limits and credits", () => {
  const [first, second] = [emptyLimit("1", true), emptyLimit("2", false)];
  const limits = [first, second];
  expect(limitRules.name("requests", { limits })).toBeNull();
  expect(limitRules.name("", { limits })).toContain("Use lower-case letters");
  const twice = { limits: [first, { ...second, name: "requests" }] };
  expect(limitRules.name("requests", twice)).toBe("Use each name once.");
  expect(limitRules.quota("0")).toContain("from 1 to 1,000,000,000");
  expect(limitRules.windowSeconds("", { limits }, "limits.0.windowSeconds")).toBeNull();
  const custom = { limits: [{ ...first, window: "other" }] } as const;
  expect(limitRules.windowSeconds("", custom, "limits.0.windowSeconds")).toContain("30 days");
  expect(limitRules.windowSeconds("90", custom, "limits.0.windowSeconds")).toBeNull();
  const credits = { credits: "10", refill: "monthly", refillAmount: "", refillDay: "32" } as const;
  expect(creditsRules.refillAmount("", credits)).toContain("Enter a whole number from 1");
  expect(creditsRules.refillDay("32", credits)).toBe("Enter a day from 1 to 31.");
  expect(creditsRules.refillDay("32", { ...credits, credits: "" })).toBeNull();
});

test("numbers can have spaces around them", () => {
  const padded = { credits: " 500 ", refill: "monthly", refillAmount: "1000 ", refillDay: " 31" } as const;
  expect(creditsRules.credits(padded.credits)).toBeNull();
  expect(creditsRules.refillAmount(padded.refillAmount, padded)).toBeNull();
  expect(creditsRules.refillDay(padded.refillDay, padded)).toBeNull();
  expect(toCredits(padded)).toEqual({
    remaining: 500,
    refill: { amount: 1_000, interval: "monthly", day: 31 },
  });
  expect(creditsRules.credits(" ")).toBeNull();
  expect(toCredits({ ...padded, credits: " " })).toBeNull();
  const limit = { ...emptyLimit("1", true), quota: " 5 ", window: "other", windowSeconds: "90 " } as const;
  expect(limitRules.quota(limit.quota)).toBeNull();
  expect(
    limitRules.windowSeconds(limit.windowSeconds, { limits: [limit] }, "limits.0.windowSeconds"),
  ).toBeNull();
  expect(toLimits([limit])[0]).toMatchObject({ quota: 5, windowSeconds: 90 });
});

test("describes limits and credits in words", () => {
  expect(key.limits.map(describeNamedLimit)).toEqual([
    "requests: 100 per minute",
    "exports: 5 per 90 seconds, only when named",
  ]);
  expect(describeCredits({ remaining: 1_000, refill: null })).toBe("1,000");
  expect(describeCredits({ remaining: 12, refill: { amount: 100, interval: "daily", day: null } })).toBe(
    "12, refilled to 100 every day at midnight UTC",
  );
});
