import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Not the copies of tests that mutation testing makes in .results.
    include: ["src/**/*.test.ts"],
    globalSetup: "@latchkey/db/testing/global-setup",
    // A fresh module registry for each file would cost as much as the tests; no module keeps state that another file meets.
    isolate: false,
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    // Most of the time they wait for deadlines.
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
