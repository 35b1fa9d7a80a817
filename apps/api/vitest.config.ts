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
    // These limits only end what hangs, on a busy machine too. Tests assert the deadlines of the product themselves.
    expect: { poll: { timeout: 90_000 } },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
