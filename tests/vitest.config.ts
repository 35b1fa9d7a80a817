import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    exclude: ["system/**", "soak/**", "bench/**", "node_modules/**"],
    globalSetup: "support/global-setup.ts",
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    // Each file runs whole products; more than two at once would only wait for each other's processor time.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
