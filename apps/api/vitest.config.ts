import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: "@latchkey/db/testing/global-setup",
    // A new module registry per file would take as long as the tests. No module keeps state that affects another file.
    isolate: false,
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    // Two workers even on two cores, where Vitest would use one.
    maxWorkers: 2,
    // Vitest's default of one second is too short on a busy machine.
    expect: { poll: { timeout: 10_000 } },
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
