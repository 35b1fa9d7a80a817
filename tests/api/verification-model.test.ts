import { test } from "vitest";
import { checkScenarios } from "../support/verification-model/check-scenarios.ts";

// Random histories of issued keys on two nodes: keys are verified with different costs, limits, IP addresses and old secrets, alone,
// in batches, in a named workspace and in any of two that share a secret, repeatedly with an Idempotency-Key, and many times at the same
// time, while keys, permissions, credits, refills, limits of a consumer, the keyspace, the workspace and the caller's user change, the
// keyspace is deleted, and the database's clock is set forward, also by a month, and back. A model defines each response.

test("random histories of issued keys on two nodes have the results of the model", async () => {
  await checkScenarios({ runs: 15 });
}, 480_000);
