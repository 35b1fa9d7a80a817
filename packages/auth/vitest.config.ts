import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Excludes the copies of tests that mutation testing makes in .results.
    include: ["src/**/*.test.ts", "mutation/*.test.ts"],
    globalSetup: "@latchkey/db/testing/global-setup",
    // A new module registry per file would take as long as the tests. No module keeps state that affects another
    // file.
    isolate: false,
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    // The tests spend most of their time waiting for deadlines.
    maxWorkers: 3,
    // These limits only end what hangs, on a busy machine too. Tests assert the deadlines of the product themselves.
    expect: { poll: { timeout: 90_000 } },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
