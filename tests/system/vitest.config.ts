import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    globalSetup: "../support/global-setup.ts",
    reporters: ["default", "json"],
    outputFile: { json: "../.results/system.json" },
    maxWorkers: 1,
    // These limits only end what hangs, on a busy machine too. Tests assert the deadlines of the product themselves.
    expect: { poll: { timeout: 90_000 } },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
