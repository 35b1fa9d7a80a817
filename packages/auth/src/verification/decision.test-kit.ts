import type { ConsumerId } from "@latchkey/db/ids";
import type { KeyFacts } from "../admission/decision.ts";
import { decideRequest } from "./decide-request.ts";
import type { Counter, CounterId, DecisionState, EarlierRequest } from "./decide-verification.ts";
import type { MeterState } from "./meters.ts";
import { compilePermissions } from "./permission-query.ts";
import { caller, plainKey } from "./verifiable-key.test-kit.ts";
import type { VerifiableKey } from "./verifiable-key.ts";
import type { Verification, VerificationResult } from "./verification.ts";

/** The time of decisions. */
export const now = Date.UTC(2026, 4, 15, 12);

/** An issued key with permissions and data of its own. */
export const issued: VerifiableKey = {
  ...plainKey,
  meta: { plan: "pro" },
  permissions: ["documents.read"],
  grantedPermissions: compilePermissions(["documents.read"]),
  // Tests with a balance need it, and the others don't.
  hasCredits: true,
};

/** A verification of any key, at a cost of 1. */
export const verification: Verification = {
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

/** A counter at version 1 that the batch has not changed. */
export function counterOf(id: CounterId, meters: Partial<MeterState> = {}): Counter {
  const state = { windows: new Map(), balance: null, ...meters };
  return { id, version: 1, uses: 0, isSecretUsed: false, meters: state, isChanged: false };
}

/** The state of a batch with these counters. */
export function lock(
  counters: readonly Counter[],
  isOwnerCurrent: DecisionState["isOwnerCurrent"] = () => true,
) {
  return {
    counters: new Map(counters.map((counter) => [counter.id, counter])),
    isOwnerCurrent,
    now,
    hasPassed: (time: number) => time <= now,
    maxNamedPerHour: 100,
  };
}

export const balanceOf = (remaining: number): Partial<MeterState> => ({
  balance: { remaining, refilledAt: 0 },
});
export const limitOf = (name: string, quota: number, appliesAlways = true) => ({
  name,
  quota,
  windowSeconds: 60,
  appliesAlways,
});

/** Verifies one key with one request, and returns the result and the counters. */
export function verifyOne({
  facts = {},
  request = {},
  meters = {},
  sharedMeters = {},
  callerFacts = caller,
  earlier,
}: {
  readonly facts?: Partial<VerifiableKey>;
  readonly request?: Partial<Verification>;
  readonly meters?: Partial<MeterState>;
  /** Of the consumer. */
  readonly sharedMeters?: Partial<MeterState>;
  readonly callerFacts?: KeyFacts;
  readonly earlier?: EarlierRequest;
}) {
  const key = { ...issued, ...facts };
  const own = counterOf(key.keyId, meters);
  const callerCounter = counterOf(callerFacts.keyId);
  const shared = counterOf("consumer" as ConsumerId, sharedMeters);
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
export function resultOf(decision: ReturnType<typeof decideRequest>): VerificationResult {
  if (decision.kind !== "admitted" || decision.outcome.kind !== "verified") throw new Error(decision.kind);
  const [result] = decision.outcome.results;
  if (!result) throw new Error("There is no result.");
  return result;
}
