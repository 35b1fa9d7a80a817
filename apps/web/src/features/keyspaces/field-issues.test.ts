import { expect, test } from "vitest";
import { fieldOfPath } from "./field-issues.ts";
import { emptyKeyspace, type KeyspaceValues } from "./keyspace-values.ts";
import { emptyLimit } from "./limit-values.ts";

const limits = [emptyLimit("a", true), { ...emptyLimit("b", false), window: "other" } as const];
const keyspace: KeyspaceValues = { ...emptyKeyspace, limits };
const key = { name: "", externalId: "", permissions: "", meta: "", ipRanges: "", credits: "1", limits };

test.each([
  ["fields.name", "name"],
  ["changes.externalId", "externalId"],
  ["fields.meta.plan.0.name", "meta"],
  ["fields.permissions.3", "permissions"],
  ["changes.ipRanges.0", "ipRanges"],
  ["fields.credits.remaining", "credits"],
  ["fields.limits.0.quota", "limits.0.quota"],
  ["fields.limits.1", "limits.1.name"],
  ["fields.limits.0.windowSeconds", "limits.0.window"],
  ["fields.limits.1.windowSeconds", "limits.1.windowSeconds"],
  ["fields.limits", undefined],
  ["fields.limits.2.quota", undefined],
  ["keyspaceId", undefined],
  ["", undefined],
])("an error at %j is shown under the field %j of a key", (path, field) => {
  expect(fieldOfPath(path, key)).toBe(field);
});

test("an error of the expiry is shown under what was chosen or entered", () => {
  expect(fieldOfPath("fields.expiresAt", { ...key, expiry: "date" })).toBe("expiryDate");
  expect(fieldOfPath("fields.expiresAt", { ...key, expiry: "never" })).toBe("expiry");
});

test.each([
  ["fields.prefix", "prefix"],
  ["changes.defaultLifetimeDays", "lifetimeDays"],
  ["fields.defaultPermissions.0", "permissions"],
  ["fields.defaultLimits.0.name", "limits.0.name"],
  ["fields.defaultCredits.remaining", "credits"],
  ["fields.defaultCredits.refill.amount", "refillAmount"],
  ["fields.defaultCredits.refill.day", "refillDay"],
  ["fields.meta", undefined],
])("an error at %j is shown under the field %j of a keyspace", (path, field) => {
  expect(fieldOfPath(path, keyspace)).toBe(field);
});
