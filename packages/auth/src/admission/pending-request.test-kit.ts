import type { PendingRequest } from "./batch.ts";
import { goodFacts } from "./facts.test-kit.ts";

/** A pending request with the current secret of the key of {@link goodFacts}, whose facts the node knew. */
export function createPendingRequest(request: Partial<PendingRequest> = {}): PendingRequest {
  return {
    digest: "current",
    requirement: undefined,
    address: undefined,
    facts: goodFacts,
    wasKnown: true,
    arrivedAt: 0,
    answer: () => undefined,
    wasBlocked: false,
    isAnswered: false,
    ...request,
  };
}
