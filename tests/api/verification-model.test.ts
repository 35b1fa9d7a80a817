import { test } from "vitest";
import { checkScenarios } from "../support/verification-model/check-scenarios.ts";

// Random histories of issued keys on two nodes: keys are verified with different costs, limits and old secrets, alone and many
// times at the same time, while keys, credits, refills, limits of a consumer and the keyspace change, and the database's clock is
// set forward and back. A model defines each response.

test("random histories of issued keys on two nodes have the results of the model", async () => {
  await checkScenarios({ runs: 15 });
}, 480_000);
