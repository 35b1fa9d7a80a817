import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    globalSetup: "../support/global-setup.ts",
    reporters: ["default", "json"],
    outputFile: { json: "../.results/soak.json" },
    // Each file loads two nodes as far as the machine goes.
    maxWorkers: 1,
    testTimeout: 1_800_000,
    hookTimeout: 120_000,
  },
});
