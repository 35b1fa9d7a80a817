import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    exclude: ["system/**", "soak/**", "bench/**", "node_modules/**"],
    globalSetup: "support/global-setup.ts",
    // A fresh module registry for each file would cost as much as the tests; no module keeps state that another
    // file meets.
    isolate: false,
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    // Each file runs whole products: on two cores a third one takes what two leave of the processors' time, a
    // quarter.
    maxWorkers: 3,
    provide: { effort: 1 },
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
