import { expect, test } from "vitest";
import { decideRequest } from "./decide-request.ts";
import type { EarlierRequest } from "./decide-verification.ts";
import { counterOf, issued, lock, now, verification } from "./decision.test-kit.ts";
import { caller } from "./verifiable-key.test-kit.ts";

/** Sends a request with two verifications whose caller may verify three with a new name per hour. */
function prepare() {
  const [callerCounter, own] = [counterOf(caller.keyId), counterOf(issued.keyId)];
  const state = { ...lock([callerCounter, own]), maxNamedPerHour: 3 };
  const send = (earlier: EarlierRequest | undefined, time = now) => {
    const decision = decideRequest(
      {
        address: undefined,
        caller,
        verifications: [verification, verification],
        targets: [issued, undefined],
        earlier,
      },
      { ...state, now: time },
    );
    if (decision.kind !== "admitted") throw new Error(decision.kind);
    return decision.outcome;
  };
  return { send, callerCounter, own };
}

test("counts the verifications with a new name, and verifies none if they are more than the maximum per hour", () => {
  const { send, callerCounter, own } = prepare();
  expect(send({ kind: "none" }).kind).toBe("verified");
  expect([...callerCounter.meters.windows.values()]).toEqual([{ endsAt: now + 3_600_000, spent: 2 }]);
  expect(send({ kind: "none" }, now + 600_000)).toEqual({ kind: "too-many-names", retryAfterSeconds: 3_000 });
  expect([...callerCounter.meters.windows.values()]).toEqual([{ endsAt: now + 3_600_000, spent: 2 }]);
  expect([own.uses, callerCounter.uses]).toEqual([1, 2]);
  expect(send({ kind: "none" }, now + 3_600_000).kind).toBe("verified");
});

test("counts no verification without a name, or with the name of an earlier request", () => {
  const { send, callerCounter } = prepare();
  for (const earlier of [undefined, { kind: "known", spent: [null, null] }, { kind: "name-reused" }] as const)
    send(earlier);
  expect(callerCounter.meters.windows.size).toBe(0);
});

test("a repeated request has the result NOT_FOUND for a key that is no longer found", () => {
  const { send } = prepare();
  expect(send({ kind: "known", spent: [issued.keyId, null] })).toMatchObject({
    results: [{ code: "VALID", isUse: false }, { code: "NOT_FOUND" }],
  });
});
