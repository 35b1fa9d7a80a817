import type { PendingRequest } from "./batch.ts";
import { validFacts } from "./facts.test-kit.ts";

/** A pending request with the current secret of the key of {@link validFacts}, whose facts the node knew. */
export function createPendingRequest(request: Partial<PendingRequest> = {}): PendingRequest {
  return {
    digest: "current",
    requirement: undefined,
    address: undefined,
    facts: validFacts,
    epoch: 0,
    callerId: validFacts.userId,
    size: 1,
    callerTotal: undefined,
    mayFillQueue: true,
    arrivedAt: 0,
    answer: () => undefined,
    wasPostponed: false,
    isAnswered: false,
    ...request,
  };
}
