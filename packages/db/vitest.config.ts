import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: "./test/global-setup.ts",
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
