import { test } from "vitest";
import { env } from "../env.ts";
import { checkScenarios } from "../support/admission-model/check-scenarios.ts";

test("many more random histories have no stale response, and each use is counted once", async () => {
  await checkScenarios({ runs: 10, seconds: env.soakSeconds });
});
