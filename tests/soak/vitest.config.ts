import { join } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: join(import.meta.dirname, ".."),
    include: [
      "soak/**/*.test.ts",
      // The tests that repeat their rounds, `effort` times as often.
      "faults/{node-killed,verification}.test.ts",
      "security/{mutual-changes,immediate-effect,last-owners,one-connection}.test.ts",
    ],
    provide: { effort: 5 },
    globalSetup: "support/global-setup.ts",
    reporters: ["default", "json"],
    outputFile: { json: ".results/soak.json" },
    // Each file loads two nodes to the limit of the machine.
    maxWorkers: 1,
    // These limits only end what hangs, on a busy machine too. Tests assert the deadlines of the product themselves.
    expect: { poll: { timeout: 90_000 } },
    testTimeout: 1_800_000,
    hookTimeout: 300_000,
  },
});
