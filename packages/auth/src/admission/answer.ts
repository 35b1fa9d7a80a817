import { openWorkspace, type Spending, type Waiter } from "./batch.ts";
import type { KeyFacts, Limit } from "./judge.ts";
import type { Spent } from "./spend.ts";
import type { LimitState, Presented, Verdict } from "./verdict.ts";

/** For a token that no key has. */
export const unknown = {
  kind: "refused",
  reason: "unknown",
  presented: undefined,
} as const satisfies Verdict;
/** For a token that cannot be a key. */
export const malformed = {
  kind: "refused",
  reason: "malformed",
  presented: undefined,
} as const satisfies Verdict;
/** For a request that the database has not confirmed in time. */
export const unavailable = { kind: "unavailable", retryAfterSeconds: 1 } as const satisfies Verdict;

/** What is told of the key that a secret of this digest belongs to. */
export function presentedBy({ keyId, isRetired }: KeyFacts, digest: string): Presented {
  return { keyId, retiredSecret: isRetired ? digest : undefined };
}

/**
 * Answers requests that were counted together, or that found nothing left of their key's limit.
 * @param spent how much the limit let through; undefined for a key without one.
 */
export function answerCounted(
  { digest, facts, waiters }: Spending,
  spent: Spent | undefined,
  answer: (waiter: Waiter, verdict: Verdict) => void,
): void {
  const { keyId, userId, restrictions, isRestricted, isRetired, limit } = facts;
  const presented = presentedBy(facts, digest);
  const principal = { keyId, userId, digest, restrictions, isRestricted, isByFormerSecret: isRetired };
  const admitted = {
    kind: "admitted",
    presented,
    principal,
    access: undefined,
    limit: undefined,
  } as const;
  if (!limit) {
    for (const waiter of waiters)
      answer(waiter, waiter.demand ? { ...admitted, access: openWorkspace(waiter) } : admitted);
    return;
  }
  if (!spent) throw new Error("A key with a limit was counted, and not how its limit stands.");
  let place = 0;
  for (const waiter of waiters) {
    const state = stateAt(place, limit, spent);
    if (place >= spent.granted) answer(waiter, { kind: "limited", presented, limit: state });
    else
      answer(waiter, { kind: "admitted", presented, principal, access: openWorkspace(waiter), limit: state });
    place += 1;
  }
}

/** How the limit stands for the request at this place of its batch, counted from 0. */
function stateAt(place: number, limit: Limit, { granted, remaining, resetsInSeconds }: Spent): LimitState {
  return { limit, remaining: remaining + Math.max(0, granted - 1 - place), resetsInSeconds };
}
