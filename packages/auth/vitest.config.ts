import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Not the copies of tests that mutation testing makes in .results.
    include: ["src/**/*.test.ts"],
    globalSetup: "@latchkey/db/testing/global-setup",
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
