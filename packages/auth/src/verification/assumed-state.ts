import type { FoundKeys } from "./decide-request.ts";
import {
  type Counter,
  type CounterId,
  type DecisionState,
  hasCost,
  isInvalid,
} from "./decide-verification.ts";
import type { MeterState } from "./meters.ts";
import type { VerifiableKey } from "./verifiable-key.ts";

/**
 * The state by which a node decides requests before it locks anything: the versions of all facts are current, and the time is
 * `now`. What was decided is valid only if the statement that counts the uses confirms the assumptions.
 */
export interface AssumedState extends DecisionState {
  /** When the decisions are valid, in milliseconds since the epoch: from `from`, and before `until`. */
  readonly validity: { readonly from: number; readonly until: number };
}

const noMeters: MeterState = { windows: new Map(), balance: null };

/**
 * Whether requests spend from no meter: no key has a rate limit or credits, and the request has no `Idempotency-Key`, whose use has
 * a quota. The first use of an issued key or of a new secret changes more than the count, so such a request isn't unmetered.
 * @param now the database's time, as far as the node can tell. Pass the same time to {@link assumeState}: the decision then finds the
 *   same keys invalid, and restricts its validity to the times at which they are.
 */
export function isUnmetered(
  { caller, targets, verifications, name }: FoundKeys & { readonly name: object | undefined },
  now: number,
): boolean {
  if (name || caller?.limit || caller?.isUnusedSecret) return false;
  return targets.every((facts, index) => {
    if (!facts) return true;
    if (isMetered(facts)) return false;
    if (facts.isInUse && !facts.isUnusedSecret) return true;
    const verification = verifications[index];
    if (!verification) return false;
    // A verification that isn't a use adds no row. Without these exceptions, every verification of such a key would lock its counter.
    if (!hasCost(verification) && !facts.isUnusedSecret) return true;
    return isInvalid(facts, verification, { hasPassed: (time) => time <= now });
  });
}

/** Whether uses of an issued key, or of an API key that is verified, spend from a meter. */
export function isMetered({ limits, hasCredits, consumer }: VerifiableKey): boolean {
  return limits.length > 0 || hasCredits || (consumer?.limits.length ?? 0) > 0;
}

/** Assumes that the facts of unmetered requests are current. @param now the database's time, as far as the node can tell. */
export function assumeState(requests: readonly FoundKeys[], now: number): AssumedState {
  const counters = new Map<CounterId, Counter>();
  const assume = (id: CounterId, version: number): void => {
    if (!counters.has(id))
      counters.set(id, { id, version, uses: 0, isSecretUsed: false, meters: noMeters, isChanged: false });
  };
  for (const { caller, targets } of requests) {
    if (caller) assume(caller.keyId, caller.version);
    for (const facts of targets) if (facts) assume(facts.keyId, facts.version);
  }
  const validity = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };
  return {
    counters,
    isOwnerCurrent: () => true,
    now,
    hasPassed(time) {
      if (time > now) validity.until = Math.min(validity.until, time);
      else validity.from = Math.max(validity.from, time);
      return time <= now;
    },
    maxNamedPerHour: 0,
    validity,
  };
}
