import type { ConsumerId, IssuedKeyId, KeyspaceId, WorkspaceId } from "@latchkey/db/ids";
import { describe, expect, test } from "vitest";
import type { KeyFacts } from "../admission/decision.ts";
import { membershipAs } from "../admission/facts.test-kit.ts";
import { createIpMatcher } from "../ip-ranges.ts";
import { compileRestrictions } from "../restrictions.ts";
import { apiKeyLimitName } from "./api-key-target.ts";
import {
  type Counter,
  type CounterId,
  type DecisionState,
  decideRequest,
  type EarlierRequest,
  findTarget,
  type KnownRequest,
} from "./decide-verification.ts";
import type { MeterState } from "./meters.ts";
import { type PermissionQuery, parsePermissionQuery } from "./permission-query.ts";
import { caller, keyspaceId, plainKey, workspaceId } from "./verifiable-key.test-kit.ts";
import type { VerifiableKey } from "./verifiable-key.ts";
import type { Verification, VerificationResult } from "./verification.ts";

const now = Date.UTC(2026, 4, 15, 12);

const issued: VerifiableKey = {
  ...plainKey,
  meta: { plan: "pro" },
  permissions: ["documents.read"],
  grantedPermissions: new Set(["documents.read"]),
  // Tests with a balance need it, and the others don't.
  hasCredits: true,
};

const verification: Verification = {
  digest: "digest",
  isApiKey: false,
  keyspaceId: undefined,
  workspaceId: undefined,
  permissions: undefined,
  cost: 1,
  limits: [],
  clientAddress: undefined,
  tags: [],
};

function counterOf(id: CounterId, meters: Partial<MeterState> = {}): Counter {
  const state = { windows: new Map(), balance: null, ...meters };
  return { id, version: 1, uses: 0, isSecretUsed: false, meters: state, isChanged: false };
}

function lock(counters: readonly Counter[], isOwnerCurrent: DecisionState["isOwnerCurrent"] = () => true) {
  return {
    counters: new Map(counters.map((counter) => [counter.id, counter])),
    isOwnerCurrent,
    now,
    hasPassed: (time: number) => time <= now,
    maxNamedPerHour: 100,
  };
}

const balanceOf = (remaining: number): Partial<MeterState> => ({ balance: { remaining, refilledAt: 0 } });
const limitOf = (name: string, quota: number, appliesAlways = true) => ({
  name,
  quota,
  windowSeconds: 60,
  appliesAlways,
});

/** Verifies one key with one request, and returns the result and the counters. */
function verifyOne({
  facts = {},
  request = {},
  meters = {},
  callerFacts = caller,
  earlier,
}: {
  readonly facts?: Partial<VerifiableKey>;
  readonly request?: Partial<Verification>;
  readonly meters?: Partial<MeterState>;
  readonly callerFacts?: KeyFacts;
  readonly earlier?: EarlierRequest;
}) {
  const key = { ...issued, ...facts };
  const own = counterOf(key.keyId, meters);
  const callerCounter = counterOf(callerFacts.keyId);
  const shared = counterOf("consumer" as ConsumerId);
  const decision = decideRequest(
    {
      address: "192.0.2.1",
      caller: callerFacts,
      verifications: [{ ...verification, ...request }],
      targets: [key],
      earlier,
    },
    lock([callerCounter, own, shared]),
  );
  return { decision, own, callerCounter, shared };
}

/** The only result of a decision. */
function resultOf(decision: ReturnType<typeof decideRequest>): VerificationResult {
  if (decision.kind !== "admitted" || decision.outcome.kind !== "verified") throw new Error(decision.kind);
  const [result] = decision.outcome.results;
  if (!result) throw new Error("There is no result.");
  return result;
}

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

  test("an old secret is valid during its overlap, and belongs to no key afterwards", () => {
    expect(resultOf(verifyOne({ facts: { overlapEndsAt: now + 1 } }).decision).code).toBe("VALID");
    expect(resultOf(verifyOne({ facts: { overlapEndsAt: now } }).decision)).toEqual({ code: "NOT_FOUND" });
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

  test("requests of a batch are charged in order, and a cost that does not fit leaves the rest to later ones", () => {
    const own = counterOf(issued.keyId, balanceOf(5));
    const state = lock([counterOf(caller.keyId), own]);
    const codes = [2, 4, 3, 1].map(
      (cost) =>
        resultOf(
          decideRequest(
            {
              address: undefined,
              caller,
              verifications: [{ ...verification, cost }],
              targets: [issued],
              earlier: undefined,
            },
            state,
          ),
        ).code,
    );
    expect(codes).toEqual(["VALID", "USAGE_EXCEEDED", "VALID", "USAGE_EXCEEDED"]);
    expect(own.meters.balance?.remaining).toBe(0);
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

  test("an unknown limit is reported with its position, and nothing is spent on any key of the request", () => {
    const own = counterOf(issued.keyId, balanceOf(5));
    const callerCounter = counterOf(caller.keyId);
    const named = {
      ...verification,
      limits: [
        { name: "known", cost: 1 },
        { name: "unknown", cost: 1 },
      ],
    };
    const decision = decideRequest(
      {
        address: undefined,
        caller,
        verifications: [verification, named],
        targets: [issued, { ...issued, limits: [limitOf("known", 5, false)] }],
        earlier: undefined,
      },
      lock([callerCounter, own]),
    );
    expect(decision).toMatchObject({
      kind: "admitted",
      outcome: { kind: "unknown-limit", verification: 1, limit: 1 },
    });
    expect([own.isChanged, callerCounter.uses]).toEqual([false, 1]);
  });

  test("a repeated request spends only what the earlier one did not, and has the current result", () => {
    const spent = { kind: "known", spent: [issued.keyId] } as const;
    const again = verifyOne({ meters: balanceOf(0), earlier: spent });
    expect(resultOf(again.decision)).toMatchObject({ code: "VALID", remainingCredits: 0 });
    expect(again.own).toMatchObject({ uses: 0, isChanged: false });
    expect(resultOf(verifyOne({ facts: { isDisabled: true }, earlier: spent }).decision).code).toBe(
      "DISABLED",
    );
    const unspent = verifyOne({ meters: balanceOf(5), earlier: { kind: "known", spent: [null] } });
    expect(unspent.own.meters.balance?.remaining).toBe(4);
    // Another key with the same secret has spent nothing.
    const other = verifyOne({
      meters: balanceOf(5),
      earlier: { kind: "known", spent: ["other" as IssuedKeyId] },
    });
    expect(other.own.meters.balance?.remaining).toBe(4);
  });

  test("nothing is verified if the name was used for another request", () => {
    const earlier = { kind: "name-reused" } as const;
    const { decision, own, callerCounter } = verifyOne({ meters: balanceOf(5), earlier });
    expect(decision).toMatchObject({ kind: "admitted", outcome: earlier });
    expect([own.isChanged, callerCounter.uses]).toEqual([false, 1]);
  });

  test("the first use of a new secret is marked, of the caller and of the key", () => {
    const { own, callerCounter } = verifyOne({
      facts: { isUnusedSecret: true },
      callerFacts: { ...caller, isUnusedSecret: true },
    });
    expect([own.isSecretUsed, callerCounter.isSecretUsed]).toEqual([true, true]);
  });
});

describe("the caller", () => {
  test("spends nothing if it exceeds its rate limit", () => {
    const limited = { ...caller, limit: { quota: 1, windowSeconds: 60 } };
    const own = counterOf(issued.keyId, balanceOf(5));
    const callerCounter = counterOf(limited.keyId);
    const request = {
      address: undefined,
      caller: limited,
      verifications: [verification],
      targets: [issued],
      earlier: undefined,
    };
    const state = lock([callerCounter, own]);
    expect(decideRequest(request, state)).toMatchObject({
      kind: "admitted",
      limit: { quota: 1, remaining: 0, resetsInSeconds: 60 },
    });
    expect(decideRequest(request, state)).toMatchObject({ kind: "limited", limit: { resetsInSeconds: 60 } });
    expect(own.meters.balance?.remaining).toBe(4);
    expect(callerCounter).toMatchObject({ uses: 1 });
    expect(callerCounter.meters.windows.get(apiKeyLimitName)?.spent).toBe(1);
  });

  test("is rejected and spends nothing if it is disabled", () => {
    const { decision, own } = verifyOne({ callerFacts: { ...caller, isDisabled: true } });
    expect(decision).toEqual({ kind: "rejected", reason: "disabled" });
    expect(own.isChanged).toBe(false);
  });
});

test("a caller that had expired when its facts were read is rejected, and one that expires later is outdated", () => {
  const validUntil = new Date(now).toISOString();
  const state = lock([counterOf(caller.keyId)]);
  const request = { address: undefined, verifications: [], targets: [], earlier: undefined };
  const expired = { ...caller, validUntil, isExpired: true };
  expect(decideRequest({ ...request, caller: expired }, state)).toEqual({
    kind: "rejected",
    reason: "expired",
  });
  const former = { ...caller, validUntil, isFormerSecret: true, hasOverlapEnded: true };
  expect(decideRequest({ ...request, caller: former }, state)).toMatchObject({ reason: "rotated-out" });
  expect(decideRequest({ ...request, caller: { ...caller, validUntil } }, state)).toEqual({
    kind: "outdated",
  });
});

describe("facts that have changed decide nothing", () => {
  const request: KnownRequest = {
    address: undefined,
    caller,
    verifications: [verification],
    targets: [issued],
    earlier: undefined,
  };
  const consumer = {
    id: "consumer" as ConsumerId,
    externalId: "acme",
    version: 3,
    limits: [limitOf("shared", 1)],
  };

  test.each<[string, KnownRequest, DecisionState]>([
    [
      "the caller's version",
      request,
      lock([{ ...counterOf(caller.keyId), version: 2 }, counterOf(issued.keyId)]),
    ],
    ["the caller's row", request, lock([counterOf(issued.keyId)])],
    [
      "the caller's owner",
      request,
      lock([counterOf(caller.keyId), counterOf(issued.keyId)], (id) => id !== caller.userId),
    ],
    [
      "the key's version",
      request,
      lock([counterOf(caller.keyId), { ...counterOf(issued.keyId), version: 2 }]),
    ],
    ["the key's row", request, lock([counterOf(caller.keyId)])],
    [
      "the key's lack of a balance",
      { ...request, targets: [{ ...issued, hasCredits: false }] },
      lock([counterOf(caller.keyId), counterOf(issued.keyId, balanceOf(5))]),
    ],
    [
      "the keyspace",
      request,
      lock([counterOf(caller.keyId), counterOf(issued.keyId)], (id) => id !== keyspaceId),
    ],
    [
      "the consumer",
      { ...request, targets: [{ ...issued, consumer }] },
      lock(
        [counterOf(caller.keyId), counterOf(issued.keyId), counterOf(consumer.id)],
        (id) => id !== consumer.id,
      ),
    ],
    [
      "the consumer's row",
      { ...request, targets: [{ ...issued, consumer }] },
      lock([counterOf(caller.keyId), counterOf(issued.keyId)]),
    ],
    [
      "the caller's expiry",
      { ...request, caller: { ...caller, validUntil: new Date(now).toISOString() } },
      lock([counterOf(caller.keyId), counterOf(issued.keyId)]),
    ],
    [
      "the key's idle time in the workspace",
      { ...request, targets: [{ ...issued, idleAt: now }] },
      lock([counterOf(caller.keyId), counterOf(issued.keyId)]),
    ],
    [
      "the caller's idle time in the workspace",
      {
        ...request,
        caller: {
          ...caller,
          memberships: new Map([
            [workspaceId, membershipAs("member", { idleAt: new Date(now).toISOString() })],
          ]),
        },
      },
      lock([counterOf(caller.keyId), counterOf(issued.keyId)]),
    ],
  ])("%s", (_, outdatedRequest, state) => {
    expect(decideRequest(outdatedRequest, state)).toEqual({ kind: "outdated" });
    expect([...state.counters.values()].some(({ isChanged }) => isChanged)).toBe(false);
  });
});

describe("the key that a digest means", () => {
  const other = { ...issued, keyId: "other" as IssuedKeyId, workspaceId: "elsewhere" as WorkspaceId };
  const second = { ...issued, keyId: "second" as IssuedKeyId, keyspaceId: "second" as KeyspaceId };
  const candidates = [other, issued, second];
  const find = (change: Partial<Verification> = {}, callerFacts = caller) =>
    findTarget({ ...verification, ...change }, { caller: callerFacts, address: undefined, candidates })
      ?.keyId;

  test("is the oldest one that the caller may verify", () => {
    expect(find()).toBe(issued.keyId);
    expect(find({ keyspaceId: second.keyspaceId })).toBe(second.keyId);
    expect(find({ workspaceId: other.workspaceId })).toBeUndefined();
    expect(find({ workspaceId, keyspaceId: "third" as KeyspaceId })).toBeUndefined();
  });

  test("is none without the permission, by role or by the restrictions of the caller's key", () => {
    const viewer = { ...caller, memberships: new Map([[workspaceId, membershipAs("viewer")]]) };
    expect(find({}, viewer)).toBeUndefined();
    const settings = {
      isDisabled: false,
      expiresAt: null,
      workspaceIds: null,
      permissions: ["keyspaces:read"],
      isReadOnly: false,
      ipRanges: null,
      limit: null,
    };
    expect(find({}, { ...caller, restrictions: compileRestrictions(settings) })).toBeUndefined();
    const verifying = compileRestrictions({ ...settings, permissions: ["keys:verify"] });
    expect(find({}, { ...caller, restrictions: verifying })).toBe(issued.keyId);
    const blocked = {
      ...caller,
      memberships: new Map([[workspaceId, membershipAs("member", { isBlocked: true })]]),
    };
    expect(find({}, blocked)).toBeUndefined();
  });
});
