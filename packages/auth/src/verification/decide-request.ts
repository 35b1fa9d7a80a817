import type { NamedLimit } from "@latchkey/db/issued-key-settings";
import { decide, type KeyFacts, type Limit } from "../admission/decision.ts";
import { apiKeyLimitName } from "./api-key-target.ts";
import {
  addUse,
  applySpending,
  type Counter,
  type CounterId,
  type DecisionState,
  decideVerification,
  type EarlierRequest,
  publicNameOf,
  withoutCost,
} from "./decide-verification.ts";
import { type Charge, type LimitResult, spend } from "./meters.ts";
import type { ConsumerFacts, VerifiableKey } from "./verifiable-key.ts";
import type { Verification, VerificationOutcome } from "./verification.ts";

/** A request with the facts about its keys, before it is known what earlier requests with the same name have spent. */
export type FoundKeys = Omit<KnownRequest, "earlier">;

/** A request to verify keys, with the facts by which it is decided. */
export interface KnownRequest {
  readonly address: string | undefined;
  /**
   * Undefined for a member who verifies without an API key. The member's permission was checked in the workspace that each
   * verification names.
   */
  readonly caller: KeyFacts | undefined;
  readonly verifications: readonly Verification[];
  /** The key of each verification, from {@link findTarget}; undefined if the caller may verify none with this digest. */
  readonly targets: readonly (VerifiableKey | undefined)[];
  /** What is known about earlier requests with the same name; undefined for a request without a name. */
  readonly earlier: EarlierRequest | undefined;
}

export type RequestDecision =
  /** Facts have changed since they were read. Nothing was spent. */
  | { readonly kind: "outdated" }
  /** The caller is rejected or over its rate limit. Nothing was spent. */
  | {
      readonly kind: "rejected";
      readonly reason: (ReturnType<typeof decide> & { kind: "rejected" })["reason"];
    }
  | { readonly kind: "limited"; readonly limit: LimitResult }
  | {
      readonly kind: "admitted";
      /** The state of the caller's rate limit; undefined without one. */
      readonly limit: LimitResult | undefined;
      readonly outcome: VerificationOutcome;
    };

/**
 * Decides one request of a batch, and spends its costs in the state. Requests are decided in the order of their
 * arrival. Pure apart from the counters that it changes.
 */
export function decideRequest(request: KnownRequest, state: DecisionState): RequestDecision {
  const { caller, targets } = request;
  // All facts are checked before anything is spent, because an outdated request is decided again.
  const areCurrent = () => targets.every((facts) => !facts || isCurrent(facts, { caller, state }));
  if (!caller) {
    return areCurrent()
      ? { kind: "admitted", limit: undefined, outcome: verifyAll(request, undefined, state) }
      : outdated;
  }
  const counter = currentCounter(state, caller.keyId, caller.version);
  if (!counter || !state.isOwnerCurrent(caller.userId, caller.ownerVersion)) return outdated;
  const decision = decide(caller, { requirement: undefined, address: request.address });
  // A service account whose workspace is disabled may verify, so that its keys are reported as disabled.
  if (decision.kind === "rejected" && decision.reason !== "workspace-disabled") return decision;
  // It has expired since the facts were read, which then reject it.
  if (caller.validUntil !== null && state.hasPassed(Date.parse(caller.validUntil))) return outdated;
  if (!areCurrent()) return outdated;
  const limit = caller.limit ? spendCallerLimit(counter, caller.limit, state.now) : undefined;
  if (limit?.isExceeded) return { kind: "limited", limit };
  addUse(counter, caller);
  return { kind: "admitted", limit, outcome: verifyAll(request, counter, state) };
}

/** Decides the verifications of an admitted request in their order. */
function verifyAll(
  { verifications, targets, earlier }: KnownRequest,
  /** Undefined for a member without an API key, whose request has no name. */
  callerCounter: Counter | undefined,
  state: DecisionState,
): VerificationOutcome {
  if (earlier?.kind === "name-reused") return earlier;
  const unknownLimit = findUnknownLimit(verifications, targets);
  if (unknownLimit) return unknownLimit;
  if (earlier?.kind === "none" && callerCounter) {
    const { isExceeded, resetsInSeconds } = spendNames(callerCounter, verifications.length, state);
    if (isExceeded) return { kind: "too-many-names", retryAfterSeconds: resetsInSeconds };
  }
  const results = verifications.map((verification, index) => {
    const facts = targets[index];
    // A repeated request checks the key as it is now, but spends only what the earlier ones didn't, even if they spent from another
    // key: if workspaces share a secret, the caller's access decides which of their keys is found.
    const hasSpent = earlier?.kind === "known" && (earlier.spent[index] ?? null) !== null;
    return decideVerification(hasSpent ? withoutCost(verification) : verification, { facts, state });
  });
  return { kind: "verified", results };
}

/** The first limit that a verification names and neither its key nor the key's consumer has. */
function findUnknownLimit(
  verifications: readonly Verification[],
  keys: readonly (VerifiableKey | undefined)[],
): VerificationOutcome | undefined {
  for (const [verification, { limits }] of verifications.entries()) {
    const facts = keys[verification];
    if (!facts) continue;
    const limit = limits.findIndex(({ name }) => !hasLimit(facts, name));
    if (limit >= 0) return { kind: "unknown-limit", verification, limit };
  }
  return undefined;
}

/** Whether a key or its consumer has a limit with this name. */
function hasLimit({ limits, consumer }: VerifiableKey, name: string): boolean {
  const isNamed = (limit: NamedLimit): boolean => publicNameOf(limit) === name;
  return limits.some(isNamed) || (consumer?.limits.some(isNamed) ?? false);
}

const outdated = { kind: "outdated" } as const;

/** The row of a key whose version is the one of the facts. */
function currentCounter(state: DecisionState, id: CounterId, version: number): Counter | undefined {
  const counter = state.counters.get(id);
  return counter?.version === version ? counter : undefined;
}

/**
 * Whether the facts of a key are current, and the caller's membership has not become idle. An old secret whose overlap has ended belongs
 * to no key anymore: the next lookup leaves it out, and may find another copy.
 */
function isCurrent(
  facts: VerifiableKey,
  { caller, state }: { readonly caller: KeyFacts | undefined; readonly state: DecisionState },
): boolean {
  const { keyId, version, workspaceId, workspaceVersion, owner, consumer } = facts;
  const { hasCredits, idleAt, overlapEndsAt } = facts;
  const membership = caller?.memberships.get(workspaceId);
  const counter = currentCounter(state, keyId, version);
  return (
    counter !== undefined &&
    // Setting a balance doesn't change the version of the key.
    (hasCredits || counter.meters.balance === null) &&
    state.isOwnerCurrent(owner.id, owner.version) &&
    (workspaceVersion === null || state.isOwnerCurrent(workspaceId, workspaceVersion)) &&
    (consumer === null || isConsumerCurrent(consumer, state)) &&
    (overlapEndsAt === null || !state.hasPassed(overlapEndsAt)) &&
    (idleAt === null || !state.hasPassed(idleAt)) &&
    (!membership?.idleAt || !state.hasPassed(Date.parse(membership.idleAt)))
  );
}

function isConsumerCurrent({ id, version, limits }: ConsumerFacts, state: DecisionState): boolean {
  return state.isOwnerCurrent(id, version) && (limits.length === 0 || state.counters.has(id));
}

function spendCallerLimit(counter: Counter, { quota, windowSeconds }: Limit, now: number): LimitResult {
  return spendLimit(counter, { limit: { name: apiKeyLimitName, quota, windowSeconds }, cost: 1 }, now);
}

/** The window of names of an API key, beside its rate limit. No other limit of an API key has a name. */
const namesLimit = { name: "idempotency-keys", windowSeconds: 3_600 } as const;

/** Counts verifications with a new name, each of which a record stores for the length of the window. */
function spendNames(counter: Counter, cost: number, { maxNamedPerHour, now }: DecisionState): LimitResult {
  return spendLimit(counter, { limit: { ...namesLimit, quota: maxNamedPerHour }, cost }, now);
}

function spendLimit(counter: Counter, limit: Charge["limits"][number], now: number): LimitResult {
  const charge = { state: counter.meters, limits: [limit], configured: undefined, credits: undefined };
  const spending = spend([charge], now);
  applySpending([counter], spending);
  return spending.limits[0] as LimitResult; // There is one limit.
}

/**
 * The oldest key with the digest that the caller may verify and that belongs where the caller says; undefined if there is
 * none.
 */
export function findTarget(
  { keyspaceId, workspaceId }: Verification,
  {
    caller,
    address,
    candidates,
  }: {
    readonly caller: KeyFacts | undefined;
    readonly address: string | undefined;
    readonly candidates: readonly VerifiableKey[];
  },
): VerifiableKey | undefined {
  return candidates.find((facts) => {
    if (keyspaceId !== undefined && facts.keyspaceId !== keyspaceId) return false;
    if (workspaceId !== undefined && facts.workspaceId !== workspaceId) return false;
    // A member's permission was checked in one workspace, so nothing is found in another one.
    if (!caller) return workspaceId !== undefined;
    const requirement = { workspaceId: facts.workspaceId, permission: "keys:verify" } as const;
    const decision = decide(caller, { requirement, address });
    // A key of a disabled workspace is found, so that its result says that it is disabled.
    return decision.kind === "allowed" || decision.reason === "workspace-disabled";
  });
}

/** The counters that a request is decided by. */
export function listCounterIds({ caller, targets }: Pick<KnownRequest, "caller" | "targets">): CounterId[] {
  return [
    ...(caller ? [caller.keyId] : []),
    ...targets.flatMap((facts) => {
      if (!facts) return [];
      return facts.consumer?.limits.length ? [facts.keyId, facts.consumer.id] : [facts.keyId];
    }),
  ];
}
