import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    globalSetup: ["./test/global-setup.ts", "./test/stopped-cluster.ts"],
    // A new module registry per file would take as long as the tests. No module keeps state that affects another
    // file.
    isolate: false,
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    // Each file starts its own clusters. More workers would only compete for the processor.
    maxWorkers: 3,
    // These limits only end what hangs, on a busy machine too. Tests assert the deadlines of the product themselves.
    expect: { poll: { timeout: 90_000 } },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
