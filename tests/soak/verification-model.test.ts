import { test } from "vitest";
import { env } from "../env.ts";
import { checkScenarios } from "../support/verification-model/check-scenarios.ts";

test("many more random histories of issued keys have the results of the model", async () => {
  await checkScenarios({ runs: 10, seconds: env.soakSeconds });
});
