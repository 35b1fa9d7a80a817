import { malformed, presentedBy, unavailable, unknownKey } from "../admission/answer.ts";
import type { KeyFacts } from "../admission/decision.ts";
import type { LimitState, Verdict } from "../admission/verdict.ts";
import type { RequestDecision } from "./decide-request.ts";
import type { LimitResult } from "./meters.ts";
import type { VerificationOutcome } from "./verification.ts";

/** The verdict on the caller and, if it was admitted, the results of its verifications. */
export interface VerifierAnswer {
  readonly verdict: Verdict;
  /** Undefined unless the caller was admitted. */
  readonly outcome: VerificationOutcome | undefined;
}

/** The answers to requests whose caller was not admitted for a reason that is not about its key's facts. */
export const withoutOutcome = {
  malformed: { verdict: malformed, outcome: undefined },
  unknownKey: { verdict: unknownKey, outcome: undefined },
  unavailable: { verdict: unavailable, outcome: undefined },
} as const satisfies Record<string, VerifierAnswer>;

/**
 * The answer to a lookup that found the caller's key. It is compared by identity: `unavailable` has the same content, and says
 * nothing about the key.
 */
export const recognized: VerifierAnswer = { ...withoutOutcome.unavailable };

/**
 * @param caller undefined for a member without an API key, on whom there is no verdict.
 * @param digest of the secret that the caller presented.
 */
export function toAnswer(
  caller: KeyFacts | undefined,
  digest: string | undefined,
  decision: Exclude<RequestDecision, { kind: "outdated" }>,
): VerifierAnswer {
  if (!caller || digest === undefined)
    return { verdict: unavailable, outcome: decision.kind === "admitted" ? decision.outcome : undefined };
  const presented = presentedBy(caller, digest);
  switch (decision.kind) {
    case "rejected":
      return { verdict: { ...decision, presented }, outcome: undefined };
    case "limited":
      return {
        verdict: { kind: "limited", presented, limit: toLimitState(caller, decision.limit) },
        outcome: undefined,
      };
    case "admitted": {
      const { keyId, userId, restrictions, isRestricted, isFormerSecret } = caller;
      return {
        verdict: {
          kind: "admitted",
          presented,
          principal: { keyId, userId, digest, restrictions, isRestricted, isByFormerSecret: isFormerSecret },
          access: undefined,
          limit: decision.limit && toLimitState(caller, decision.limit),
        },
        outcome: decision.outcome,
      };
    }
    default:
      return decision satisfies never;
  }
}

function toLimitState({ limit }: KeyFacts, { quota, remaining, resetsInSeconds }: LimitResult): LimitState {
  return { limit: limit ?? { quota, windowSeconds: 0 }, remaining, resetsInSeconds };
}
