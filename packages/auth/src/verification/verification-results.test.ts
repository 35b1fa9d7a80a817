import type { ConsumerId, KeyId, UserId } from "@latchkey/db/ids";
import { describe, expect, test } from "vitest";
import { decideVerification } from "./decide-verification.ts";
import { balanceOf, counterOf, issued, limitOf, lock, now, verification } from "./decision.test-kit.ts";
import type { MeterState } from "./meters.ts";
import type { VerifiableKey } from "./verifiable-key.ts";
import type { Verification } from "./verification.ts";

/** Decides one verification by itself. */
function decide(
  change: Partial<VerifiableKey> = {},
  request: Partial<Verification> = {},
  meters: Partial<MeterState> = {},
) {
  const facts = { ...issued, ...change };
  const [own, shared] = [counterOf(facts.keyId, meters), counterOf("consumer" as ConsumerId)];
  const before = own.meters;
  const result = decideVerification({ ...verification, ...request }, { facts, state: lock([own, shared]) });
  if (result.code === "NOT_FOUND") throw new Error("The key was not found.");
  return { result, own, shared, before };
}

const consumerWith = (limits: readonly ReturnType<typeof limitOf>[]) => ({
  id: "consumer" as ConsumerId,
  externalId: "acme",
  version: 0,
  limits,
});

test("neither a key that the caller may not verify nor one without a counter is found", () => {
  const state = lock([]);
  for (const facts of [undefined, issued])
    expect(decideVerification(verification, { facts, state })).toEqual({ code: "NOT_FOUND" });
});

describe("a counter is written", () => {
  test("with the use of a key that has no meters", () => {
    const { own, before } = decide();
    expect(own).toMatchObject({ uses: 1, isSecretUsed: false, isChanged: true });
    expect(own.meters).toBe(before);
  });

  test("with the first use of a new secret, even if the cost is 0", () => {
    const { own } = decide({ isUnusedSecret: true }, { cost: 0 });
    expect(own).toMatchObject({ uses: 0, isSecretUsed: true, isChanged: true });
    expect(decide({}, { cost: 0 }).own).toMatchObject({ isSecretUsed: false, isChanged: false });
  });

  test("only if the key is valid, so a new secret stays unused if it was rejected", () => {
    const isUnusedSecret = true;
    for (const { own } of [
      decide({ isUnusedSecret, isDisabled: true }),
      decide({ isUnusedSecret, limits: [limitOf("small", 0)] }),
      decide({ isUnusedSecret }, {}, balanceOf(0)),
    ])
      expect(own).toMatchObject({ uses: 0, isSecretUsed: false, isChanged: false });
  });

  test("with what was spent from a consumer's limit", () => {
    const { own, shared } = decide({ consumer: consumerWith([limitOf("shared", 5)]) });
    expect([own.isChanged, shared.isChanged]).toEqual([true, true]);
    expect([own.uses, shared.uses]).toEqual([1, 0]);
  });

  test("only if the key is valid, so a refill that is due for a disabled key isn't stored", () => {
    const refill = { amount: 100, interval: "daily", day: null } as const;
    const { result, own, before } = decide({ isDisabled: true, refill }, {}, balanceOf(5));
    expect(result).toMatchObject({ code: "DISABLED", remainingCredits: 100 });
    expect(own.isChanged).toBe(false);
    expect(own.meters).toBe(before);
  });
});

describe("the result of a rejected verification", () => {
  test("has the state of the limits that always apply or were named, and isn't a use", () => {
    const limits = [limitOf("always", 10), limitOf("named", 8, false), limitOf("other", 6, false)];
    const request = { limits: [{ name: "named", cost: 3 }] };
    const { result } = decide({ isDisabled: true, limits }, request);
    expect(result).toMatchObject({
      code: "DISABLED",
      isUse: false,
      apiKeyUse: undefined,
      limits: [
        { name: "always", remaining: 10 },
        { name: "named", remaining: 8 },
      ],
    });
  });

  test("isn't a use if the limits or credits reject it", () => {
    const rejected = [
      decide({ keyspaceId: null, limits: [limitOf("small", 0)] }),
      decide({ keyspaceId: null }, {}, balanceOf(0)),
    ];
    for (const { result } of rejected) expect(result).toMatchObject({ isUse: false, apiKeyUse: undefined });
  });
});

describe("the use of an API key", () => {
  const apiKey = {
    keyId: "api key" as KeyId,
    keyspaceId: null,
    owner: { id: "owner" as UserId, version: 0 },
  } satisfies Partial<VerifiableKey>;

  test("is described with its owner, and with the digest of an old secret", () => {
    const use = { keyId: apiKey.keyId, userId: apiKey.owner.id };
    expect(decide(apiKey).result.apiKeyUse).toEqual({ ...use, formerSecret: undefined });
    expect(decide({ ...apiKey, overlapEndsAt: now + 1 }).result.apiKeyUse).toEqual({
      ...use,
      formerSecret: "digest",
    });
  });

  test("isn't described if the cost is 0, or if the verified key is an issued key", () => {
    expect(decide(apiKey, { cost: 0 }).result.apiKeyUse).toBeUndefined();
    expect(decide().result).toMatchObject({ isUse: true, apiKeyUse: undefined });
  });
});

describe("a key is described", () => {
  test("with its consumer, and without an expiry", () => {
    const { result } = decide({ consumer: consumerWith([]), expiresAt: null });
    expect(result.key).toMatchObject({ consumerId: "consumer", externalId: "acme", expiresAt: null });
  });

  test("by the same object for the same facts, so that its text can be cached", () => {
    const state = lock([counterOf(issued.keyId)]);
    const keys = [1, 2].map(() => {
      const result = decideVerification(verification, { facts: issued, state });
      return result.code === "NOT_FOUND" ? undefined : result.key;
    });
    expect(keys[0]).toBeDefined();
    expect(keys[1]).toBe(keys[0]);
  });
});

test("a consumer without limits charges nothing to a key with limits", () => {
  const { result } = decide({ consumer: consumerWith([]), limits: [limitOf("own", 5)] });
  expect(result.limits).toMatchObject([{ name: "own", remaining: 4 }]);
});
