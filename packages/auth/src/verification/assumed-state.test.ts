import type { ConsumerId, IssuedKeyId } from "@latchkey/db/ids";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { membershipAs } from "../admission/facts.test-kit.ts";
import { assumeState, isUnmetered } from "./assumed-state.ts";
import { decideRequest, type FoundKeys } from "./decide-request.ts";
import type { CounterId, DecisionState } from "./decide-verification.ts";
import { caller, plainKey, workspaceId } from "./verifiable-key.test-kit.ts";
import type { VerifiableKey } from "./verifiable-key.ts";
import { verificationOf } from "./verifier.test-kit.ts";

const consumer = { id: "consumer" as ConsumerId, externalId: "acme", version: 1, limits: [] };
const issued: VerifiableKey = { ...plainKey, consumer };
const limit = { name: "requests", quota: 1, windowSeconds: 60, appliesAlways: true };

describe("a request is unmetered", () => {
  const now = 1_000;
  const request = {
    address: undefined,
    caller,
    verifications: [verificationOf({ secret: "key" })],
    targets: [issued],
    name: undefined,
  };

  test("without limits, credits, unused secrets and an Idempotency-Key", () => {
    expect(isUnmetered(request, now)).toBe(true);
    expect(isUnmetered({ ...request, caller: undefined, targets: [undefined] }, now)).toBe(true);
    expect(isUnmetered({ ...request, targets: [{ ...issued, isDisabled: true, consumer: null }] }, now)).toBe(
      true,
    );
  });

  test("with a key that was never used, if it isn't used", () => {
    const unused = { ...issued, isInUse: false };
    const verifications = [verificationOf({ secret: "key" }, { cost: 0 })];
    expect(isUnmetered({ ...request, verifications, targets: [unused] }, now)).toBe(true);
    expect(isUnmetered({ ...request, targets: [{ ...unused, expiresAt: now }] }, now)).toBe(true);
    expect(isUnmetered({ ...request, targets: [{ ...unused, expiresAt: now + 1 }] }, now)).toBe(false);
  });

  test("with an unused secret of an invalid key, but not with a check of a valid one", () => {
    const unused = { ...issued, isUnusedSecret: true };
    const verifications = [verificationOf({ secret: "key" }, { cost: 0 })];
    for (const checked of [request, { ...request, verifications }]) {
      expect(isUnmetered({ ...checked, targets: [{ ...unused, isDisabled: true }] }, now)).toBe(true);
      expect(isUnmetered({ ...checked, targets: [unused] }, now)).toBe(false);
    }
  });

  test.each<[string, Partial<FoundKeys & { readonly name: object | undefined }>]>([
    ["a name", { name: {} }],
    ["a rate limit of the caller", { caller: { ...caller, limit: { quota: 1, windowSeconds: 60 } } }],
    ["an unused secret of the caller", { caller: { ...caller, isUnusedSecret: true } }],
    ["a limit", { targets: [issued, { ...issued, limits: [limit] }] }],
    ["a limit of the consumer", { targets: [{ ...issued, consumer: { ...consumer, limits: [limit] } }] }],
    ["credits", { targets: [{ ...issued, hasCredits: true }] }],
    ["an unused secret", { targets: [{ ...issued, isUnusedSecret: true }] }],
    ["a first use", { targets: [{ ...issued, isInUse: false }] }],
    ["a limit, although it is disabled", { targets: [{ ...issued, limits: [limit], isDisabled: true }] }],
  ])("but not with %s", (_what, change) => {
    expect(isUnmetered({ ...request, ...change }, now)).toBe(false);
  });
});

describe("the assumed state", () => {
  const requestOf = (change: Partial<FoundKeys>) => ({
    address: undefined,
    caller,
    verifications: [],
    targets: [],
    ...change,
  });
  const second = { ...issued, keyId: "second" as IssuedKeyId, version: 7 };
  const counterOf = (id: CounterId, version: number) => ({
    id,
    version,
    uses: 0,
    isSecretUsed: false,
    meters: { windows: new Map(), balance: null },
    isChanged: false,
  });

  test("has an unused counter for each key of each request, with the version of its facts", () => {
    const requests = [
      requestOf({ targets: [undefined, issued] }),
      requestOf({ targets: [issued, second] }),
      requestOf({ caller: undefined, targets: [second, undefined] }),
    ];
    const { counters } = assumeState(requests, 0);
    expect(counters).toEqual(
      new Map([
        [caller.keyId, counterOf(caller.keyId, caller.version)],
        [issued.keyId, counterOf(issued.keyId, 1)],
        [second.keyId, counterOf(second.keyId, 7)],
      ]),
    );
    expect(assumeState([requestOf({ caller: undefined })], 0).counters.size).toBe(0);
  });

  test("admits the first request by its facts, and no later one with another version of them", () => {
    const request = { verifications: [verificationOf({ secret: "key" })], earlier: undefined };
    const requests = [
      { ...requestOf({ targets: [issued] }), ...request },
      { ...requestOf({ targets: [{ ...issued, version: 2 }] }), ...request },
    ];
    const state = assumeState(requests, 0);
    expect(requests.map((each) => decideRequest(each, state).kind)).toEqual(["admitted", "outdated"]);
    expect(state.counters.get(issued.keyId)).toMatchObject({ uses: 1, isChanged: true });
  });
});

const time = fc.integer({ min: 0, max: 20 });
const optional = fc.option(time);
const facts = fc.record({
  key: fc.constantFrom("one", "two", "three"),
  version: fc.constantFrom(1, 1, 1, 2),
  isDisabled: fc.constantFrom(false, false, true),
  isInUse: fc.boolean(),
  isUnusedSecret: fc.constantFrom(false, false, true),
  expiresAt: optional,
  overlapEndsAt: optional,
  idleAt: optional,
});
const toIso = (milliseconds: number | null) =>
  milliseconds === null ? null : new Date(milliseconds).toISOString();
const requests = fc.array(
  fc.record({
    validUntil: optional,
    callerIdleAt: optional,
    isCallerDisabled: fc.constantFrom(false, false, false, true),
    targets: fc.array(fc.record({ facts: fc.option(facts), cost: fc.nat({ max: 2 }) }), { maxLength: 3 }),
  }),
  { maxLength: 4 },
);

type RandomRequest = (typeof requests extends fc.Arbitrary<infer Requests> ? Requests : never)[number];

/** The requests, whose versions and data of keys are random. */
function toRequests(described: readonly RandomRequest[]) {
  return described.map(({ validUntil, callerIdleAt, isCallerDisabled, targets }) => ({
    address: undefined,
    caller: {
      ...caller,
      validUntil: toIso(validUntil),
      isDisabled: isCallerDisabled,
      memberships: new Map([[workspaceId, membershipAs("member", { idleAt: toIso(callerIdleAt) })]]),
    },
    verifications: targets.map(({ cost }) => verificationOf({ secret: "key" }, { cost })),
    targets: targets.map(({ facts: changes }) => {
      if (!changes) return undefined;
      const { key, ...others } = changes;
      return { ...issued, ...others, keyId: key as IssuedKeyId };
    }),
    earlier: undefined,
  }));
}

/** A copy of the state whose time is another one. */
function stateAt(now: number, { counters }: DecisionState): DecisionState {
  const unused = [...counters.values()].map((counter) => ({ ...counter, uses: 0, isChanged: false }));
  return {
    counters: new Map(unused.map((counter) => [counter.id, counter])),
    isOwnerCurrent: () => true,
    now,
    hasPassed: (time) => time <= now,
    maxNamedPerHour: 0,
  };
}

test("what was decided by an assumed time is decided in the same way at each time at which it is valid", () => {
  let validCount = 0;
  fc.assert(
    fc.property(requests, time, time, (described, assumed, actual) => {
      const batch = toRequests(described);
      const state = assumeState(batch, assumed);
      const locked = stateAt(actual, state);
      const decisions = batch.map((request) => decideRequest(request, state));
      const isValid = state.validity.from <= actual && actual < state.validity.until;
      if (assumed === actual) expect(isValid).toBe(true);
      if (!isValid) return;
      validCount += 1;
      expect(batch.map((request) => decideRequest(request, locked))).toEqual(decisions);
      const usesOf = ({ counters }: DecisionState) =>
        [...counters.values()].map(({ id, uses }) => [id, uses]);
      expect(usesOf(locked)).toEqual(usesOf(state));
    }),
    { numRuns: 2_000 },
  );
  expect(validCount).toBeGreaterThan(400);
});

test("an unmetered request uses no secret and no key for the first time", () => {
  let rejectedCount = 0;
  fc.assert(
    fc.property(requests, time, (described, now) => {
      const batch = toRequests(described)
        .map((request) => ({ ...request, name: undefined }))
        .filter((request) => isUnmetered(request, now));
      const unused = batch.flatMap(({ targets }) => targets).filter((facts) => facts && !facts.isInUse);
      rejectedCount += unused.filter((facts) => facts?.isUnusedSecret).length;
      const inUse = new Set(
        batch.flatMap(({ targets }) => targets.flatMap((facts) => (facts?.isInUse ? [facts.keyId] : []))),
      );
      const state = assumeState(batch, now);
      for (const request of batch) decideRequest(request, state);
      for (const { id, uses, isSecretUsed } of state.counters.values()) {
        expect(isSecretUsed).toBe(false);
        if (id !== caller.keyId && !inUse.has(id as IssuedKeyId)) expect(uses).toBe(0);
      }
    }),
    { numRuns: 2_000 },
  );
  expect(rejectedCount).toBeGreaterThan(200);
});
