import { test } from "vitest";
import { checkScenarios } from "../support/admission-model/check-scenarios.ts";

// Random concurrent actions on two nodes of one database: keys are created, renamed, deleted, restricted, rotated
// and used; users are disabled, enabled, given roles and removed; the database's clock is set forward and back. A
// model defines the possible responses.

test("random histories on two nodes have no stale response, and each use is counted once", async () => {
  await checkScenarios({ runs: 15 });
}, 480_000);
