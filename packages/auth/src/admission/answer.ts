import { openWorkspace, type PendingRequest, type UsageGroup } from "./batch.ts";
import type { KeyFacts, Limit } from "./decision.ts";
import type { LimitOutcome } from "./limit-window.ts";
import type { LimitState, Presented, Verdict } from "./verdict.ts";

/** For a well-formed token that belongs to no key. */
export const unknownKey = {
  kind: "rejected",
  reason: "unknown",
  presented: undefined,
} as const satisfies Verdict;
/** For a token that is not in the format of a key. */
export const malformed = {
  kind: "rejected",
  reason: "malformed",
  presented: undefined,
} as const satisfies Verdict;
/** For a request that the database did not confirm in time. */
export const unavailable = { kind: "unavailable", retryAfterSeconds: 1 } as const satisfies Verdict;

/** Identifies the key and secret that a request presented. */
export function presentedBy({ keyId, userId, isFormerSecret }: KeyFacts, digest: string): Presented {
  return { keyId, userId, formerSecret: isFormerSecret ? digest : undefined };
}

/**
 * Answers the requests of a group that was counted: as admitted, or as limited where the rate limit left nothing.
 * @param outcome of the rate limit; undefined for a key without one.
 */
export function answerCounted(
  { digest, facts, requests }: UsageGroup,
  outcome: LimitOutcome | undefined,
  answer: (request: PendingRequest, verdict: Verdict) => void,
): void {
  const { keyId, userId, restrictions, isRestricted, isFormerSecret, limit } = facts;
  const presented = presentedBy(facts, digest);
  const principal = { keyId, userId, digest, restrictions, isRestricted, isByFormerSecret: isFormerSecret };
  const admitted = {
    kind: "admitted",
    presented,
    principal,
    access: undefined,
    limit: undefined,
  } as const;
  if (!limit) {
    for (const request of requests)
      answer(request, request.requirement ? { ...admitted, access: openWorkspace(request) } : admitted);
    return;
  }
  if (!outcome)
    throw new Error("A key with a rate limit was counted, but the statement returned no outcome for it.");
  let place = 0;
  for (const request of requests) {
    const state = stateAt(place, limit, outcome);
    if (place >= outcome.granted) answer(request, { kind: "limited", presented, limit: state });
    else
      answer(request, {
        kind: "admitted",
        presented,
        principal,
        access: openWorkspace(request),
        limit: state,
      });
    place += 1;
  }
}

/** The state of the rate limit for the request at this zero-based place in its group. */
function stateAt(
  place: number,
  limit: Limit,
  { granted, remaining, resetsInSeconds }: LimitOutcome,
): LimitState {
  return { limit, remaining: remaining + Math.max(0, granted - 1 - place), resetsInSeconds };
}
