import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: "./test/global-setup.ts",
    // A fresh module registry for each file would cost as much as the tests; no module keeps state that another file meets.
    isolate: false,
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    // Each file starts clusters of its own; more at once would only wait for each other's processor time.
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
