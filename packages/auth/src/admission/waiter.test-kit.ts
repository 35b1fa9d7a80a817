import type { Waiter } from "./batch.ts";
import { goodFacts } from "./facts.test-kit.ts";

/** A pending request with the current secret of the key of {@link goodFacts}, whose facts the node knew. */
export function createWaiter(request: Partial<Waiter> = {}): Waiter {
  return {
    digest: "current",
    demand: undefined,
    address: undefined,
    facts: goodFacts,
    wasKnown: true,
    arrivedAt: 0,
    answer: () => undefined,
    wasHeld: false,
    isAnswered: false,
    ...request,
  };
}
