import type { ConsumerId } from "@latchkey/db/ids";
import { describe, expect, test } from "vitest";
import { createIpMatcher } from "../ip-ranges.ts";
import { apiKeyLimitName } from "./api-key-target.ts";
import { balanceOf, issued, limitOf, now, resultOf, verifyOne } from "./decision.test-kit.ts";
import type { MeterState } from "./meters.ts";
import { type PermissionQuery, parsePermissionQuery } from "./permission-query.ts";
import { caller, keyspaceId, workspaceId } from "./verifiable-key.test-kit.ts";

function parse(text: string): PermissionQuery {
  const query = parsePermissionQuery(text);
  if (query.kind === "error") throw new Error(query.message);
  return query;
}

describe("codes", () => {
  /** What makes a key invalid, in the order of the checks. */
  const faults = [
    ["DISABLED", { facts: { isDisabled: true } }],
    ["EXPIRED", { facts: { expiresAt: now } }],
    ["FORBIDDEN", { facts: { allowsAddress: createIpMatcher(["198.51.100.0/24"]) } }],
    ["INSUFFICIENT_PERMISSIONS", { request: { permissions: parse("documents.write") } }],
    ["RATE_LIMITED", { facts: { limits: [limitOf("small", 2)] }, request: { cost: 3 } }],
    ["USAGE_EXCEEDED", { meters: balanceOf(2), request: { cost: 3 } }],
  ] as const;

  test.each(faults)("%s spends nothing", (code, fault) => {
    const { decision, own } = verifyOne(fault);
    expect(resultOf(decision)).toMatchObject({ code, key: { name: "Acme" } });
    expect(own).toMatchObject({ uses: 0, isChanged: false });
  });

  test("the first fault of the order decides", () => {
    for (let first = 0; first < faults.length; first += 1) {
      const rest = faults.slice(first).map(([, fault]) => fault as Parameters<typeof verifyOne>[0]);
      const { decision } = verifyOne({
        facts: Object.assign({}, ...rest.map(({ facts }) => facts)),
        request: Object.assign({}, ...rest.map(({ request }) => request)),
        meters: Object.assign({}, ...rest.map(({ meters }) => meters)),
      });
      expect(resultOf(decision).code).toBe(faults[first]?.[0]);
    }
  });

  test("a valid key is described, and its use is counted", () => {
    const { decision, own, callerCounter } = verifyOne({
      facts: { expiresAt: now + 1, allowsAddress: createIpMatcher(["192.0.2.0/24"]) },
      request: { clientAddress: "192.0.2.7", permissions: parse("documents.read") },
    });
    expect(resultOf(decision)).toEqual({
      code: "VALID",
      key: {
        keyId: issued.keyId,
        keyspaceId,
        workspaceId,
        consumerId: null,
        externalId: null,
        name: "Acme",
        meta: { plan: "pro" },
        permissions: ["documents.read"],
        expiresAt: new Date(now + 1),
      },
      limits: [],
      isUse: true,
      remainingCredits: null,
    });
    expect([own.uses, callerCounter.uses]).toEqual([1, 1]);
  });

  test("an old secret is valid during its overlap, and its key is looked up again afterwards", () => {
    expect(resultOf(verifyOne({ facts: { overlapEndsAt: now + 1 } }).decision).code).toBe("VALID");
    expect(verifyOne({ facts: { overlapEndsAt: now } }).decision).toEqual({ kind: "outdated" });
  });

  test("IP ranges need the IP address of the consumer, not of the caller", () => {
    const facts = { allowsAddress: createIpMatcher(["192.0.2.0/24"]) };
    expect(resultOf(verifyOne({ facts }).decision).code).toBe("FORBIDDEN");
  });
});

describe("spending", () => {
  test("named limits apply when they are named, with a cost of their own", () => {
    const facts = { limits: [limitOf("always", 10), limitOf("named", 10, false)] };
    const without = verifyOne({ facts, request: { cost: 2 } });
    expect(without.own.meters.windows).toEqual(new Map([["always", { endsAt: now + 60_000, spent: 2 }]]));
    const request = { cost: 2, limits: [{ name: "named", cost: 5 }] };
    const { own } = verifyOne({ facts, request });
    expect([...own.meters.windows].map(([name, { spent }]) => [name, spent])).toEqual([
      ["always", 2],
      ["named", 5],
    ]);
  });

  test("a key whose limits are renamed 1,000 times keeps only the windows of its current limits", () => {
    let windows: MeterState["windows"] = new Map();
    for (let round = 0; round < 1_000; round += 1) {
      const limits = Array.from({ length: 10 }, (_, index) => limitOf(`limit-${round}-${index}`, 5));
      const { decision, own } = verifyOne({ facts: { limits }, meters: { windows } });
      expect(resultOf(decision).code).toBe("VALID");
      ({ windows } = own.meters);
    }
    expect([...windows.keys()]).toEqual(Array.from({ length: 10 }, (_, index) => `limit-999-${index}`));
  });

  test("a consumer keeps the window of a limit that was added after its limits were confirmed", () => {
    const consumer = {
      id: "consumer" as ConsumerId,
      externalId: "acme",
      version: 0,
      limits: [limitOf("shared", 5)],
    };
    const windows = new Map([["added", { endsAt: now + 60_000, spent: 5 }]]);
    const { shared } = verifyOne({ facts: { consumer }, sharedMeters: { windows } });
    expect([...shared.meters.windows].map(([name, { spent }]) => [name, spent])).toEqual([
      ["added", 5],
      ["shared", 1],
    ]);
  });

  test("an API key keeps the window of its Idempotency-Keys", () => {
    const windows = new Map([["idempotency-keys", { endsAt: now + 60_000, spent: 3 }]]);
    const facts = { keyspaceId: null, limits: [limitOf(apiKeyLimitName, 10)], hasCredits: false };
    const { own } = verifyOne({ facts, meters: { windows } });
    expect([...own.meters.windows].map(([name, { spent }]) => [name, spent])).toEqual([
      ["idempotency-keys", 3],
      [apiKeyLimitName, 1],
    ]);
    const callerFacts = { ...caller, limit: { quota: 5, windowSeconds: 60 } };
    const { callerCounter } = verifyOne({ callerFacts, earlier: { kind: "none" } });
    expect([...callerCounter.meters.windows.keys()]).toEqual([apiKeyLimitName, "idempotency-keys"]);
  });

  test("a consumer's limit is charged with the key's own meters, or neither", () => {
    const consumer = {
      id: "consumer" as ConsumerId,
      externalId: "acme",
      version: 0,
      limits: [limitOf("shared", 1)],
    };
    const spent = verifyOne({ facts: { consumer }, meters: balanceOf(5) });
    expect([spent.own.meters.balance?.remaining, spent.shared.meters.windows.get("shared")?.spent]).toEqual([
      4, 1,
    ]);
    const rejected = verifyOne({ facts: { consumer }, meters: balanceOf(5), request: { cost: 2 } });
    expect(resultOf(rejected.decision)).toMatchObject({ code: "RATE_LIMITED", remainingCredits: 5 });
    expect([rejected.own.isChanged, rejected.shared.isChanged]).toEqual([false, false]);
  });

  test("a consumer's limit is charged by a key without meters of its own", () => {
    const consumer = {
      id: "consumer" as ConsumerId,
      externalId: "customer-1",
      version: 0,
      limits: [limitOf("shared", 1)],
    };
    const spent = verifyOne({ facts: { consumer } });
    expect(resultOf(spent.decision)).toMatchObject({
      code: "VALID",
      limits: [{ name: "shared", remaining: 0 }],
    });
    expect(spent.shared.meters.windows.get("shared")?.spent).toBe(1);
    const rejected = verifyOne({ facts: { consumer }, request: { cost: 2 } });
    expect(resultOf(rejected.decision).code).toBe("RATE_LIMITED");
  });

  test("a key and its consumer can have limits with one name: both are charged, and the key's comes first", () => {
    const consumerWith = (quota: number) => ({
      id: "consumer" as ConsumerId,
      externalId: "acme",
      version: 0,
      limits: [limitOf("exports", quota, false)],
    });
    const limits = [limitOf("exports", 10, false)];
    const request = { limits: [{ name: "exports", cost: 3 }] };
    const spent = verifyOne({ facts: { limits, consumer: consumerWith(4) }, request });
    expect(resultOf(spent.decision)).toMatchObject({
      code: "VALID",
      limits: [
        { name: "exports", quota: 10, remaining: 7 },
        { name: "exports", quota: 4, remaining: 1 },
      ],
    });
    const rejected = verifyOne({ facts: { limits, consumer: consumerWith(2) }, request });
    expect(resultOf(rejected.decision)).toMatchObject({
      code: "RATE_LIMITED",
      limits: [
        { quota: 10, remaining: 10, isExceeded: false },
        { quota: 2, remaining: 2, isExceeded: true },
      ],
    });
    expect([rejected.own.isChanged, rejected.shared.isChanged]).toEqual([false, false]);
  });

  test("a cost of 0 checks without spending, and counts no use", () => {
    const { decision, own } = verifyOne({ meters: balanceOf(0), request: { cost: 0 } });
    expect(resultOf(decision)).toMatchObject({ code: "VALID", isUse: false, remainingCredits: 0 });
    expect(own.uses).toBe(0);
    expect(verifyOne({ facts: { isUnusedSecret: true }, request: { cost: 0 } }).own.isSecretUsed).toBe(true);
  });

  test("a named limit with a cost of its own makes a verification with cost 0 a use, which spends no credits", () => {
    const facts = { limits: [limitOf("exports", 10, false)] };
    const withLimit = (cost: number | undefined) => ({ cost: 0, limits: [{ name: "exports", cost }] });
    const used = verifyOne({ facts, meters: balanceOf(0), request: withLimit(5) });
    expect(resultOf(used.decision)).toMatchObject({
      ...{ code: "VALID", isUse: true, remainingCredits: 0 },
      limits: [{ name: "exports", remaining: 5 }],
    });
    expect(used.own.uses).toBe(1);
    const rejected = verifyOne({ facts, request: withLimit(11) });
    expect(resultOf(rejected.decision)).toMatchObject({
      ...{ code: "RATE_LIMITED", isUse: false },
      // Waiting doesn't help: the cost is above the quota.
      limits: [{ isExceeded: true, remaining: 10, resetsInSeconds: 0 }],
    });
    for (const cost of [0, undefined]) {
      const { decision, own } = verifyOne({ facts, request: withLimit(cost) });
      expect(resultOf(decision)).toMatchObject({ code: "VALID", isUse: false, limits: [{ remaining: 10 }] });
      expect(own.uses).toBe(0);
    }
  });

  test("the limit of an API key has the name key in requests and results, and only there", () => {
    const facts = { keyspaceId: null, limits: [limitOf(apiKeyLimitName, 10)] };
    const named = { cost: 1, limits: [{ name: "key", cost: 3 }] };
    const { decision, own } = verifyOne({ facts, request: named });
    expect(resultOf(decision)).toMatchObject({ code: "VALID", limits: [{ name: "key", remaining: 7 }] });
    expect(own.meters.windows.get(apiKeyLimitName)?.spent).toBe(3);
    for (const [limits, name] of [
      [facts.limits, apiKeyLimitName],
      [[], "key"],
      [[limitOf("requests", 10)], "key"],
    ] as const)
      expect(
        verifyOne({ facts: { ...facts, limits }, request: { limits: [{ name, cost: undefined }] } }).decision,
      ).toMatchObject({ outcome: { kind: "unknown-limit" } });
  });

  test("the first use of a new secret is marked, of the caller and of the key", () => {
    const { own, callerCounter } = verifyOne({
      facts: { isUnusedSecret: true },
      callerFacts: { ...caller, isUnusedSecret: true },
    });
    expect([own.isSecretUsed, callerCounter.isSecretUsed]).toEqual([true, true]);
  });
});
