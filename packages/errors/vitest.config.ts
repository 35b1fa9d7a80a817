import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    // These limits only end what hangs, on a busy machine too.
    expect: { poll: { timeout: 90_000 } },
    testTimeout: 300_000,
  },
});
