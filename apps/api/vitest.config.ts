import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: "@latchkey/db/testing/global-setup",
    // A fresh module registry for each file would cost as much as the tests; no module keeps state that another file meets.
    isolate: false,
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    // Also on two cores, where Vitest would take one.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
