import type { ConsumerId, IssuedKeyId, KeyspaceId, WorkspaceId } from "@latchkey/db/ids";
import { describe, expect, test } from "vitest";
import { membershipAs } from "../admission/facts.test-kit.ts";
import { compileRestrictions } from "../restrictions.ts";
import { apiKeyLimitName } from "./api-key-target.ts";
import { decideRequest, findTarget, type KnownRequest } from "./decide-request.ts";
import type { DecisionState } from "./decide-verification.ts";
import {
  balanceOf,
  counterOf,
  issued,
  limitOf,
  lock,
  now,
  resultOf,
  verification,
  verifyOne,
} from "./decision.test-kit.ts";
import { caller, keyspaceId, workspaceId } from "./verifiable-key.test-kit.ts";
import type { Verification } from "./verification.ts";

describe("the verifications of a request", () => {
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
    // The earlier request spent from another key with the same secret.
    const other = verifyOne({
      meters: balanceOf(5),
      earlier: { kind: "known", spent: ["other" as IssuedKeyId] },
    });
    expect(resultOf(other.decision).code).toBe("VALID");
    expect(other.own).toMatchObject({ uses: 0, isChanged: false });
  });

  test("nothing is verified if the name was used for another request", () => {
    const earlier = { kind: "name-reused" } as const;
    const { decision, own, callerCounter } = verifyOne({ meters: balanceOf(5), earlier });
    expect(decision).toMatchObject({ kind: "admitted", outcome: earlier });
    expect([own.isChanged, callerCounter.uses]).toEqual([false, 1]);
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

test("a caller that had expired when its facts were read is rejected, and one that has expired since is outdated", () => {
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
  const valid = { ...caller, validUntil: new Date(now + 1).toISOString() };
  expect(decideRequest({ ...request, caller: valid }, state).kind).toBe("admitted");
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
