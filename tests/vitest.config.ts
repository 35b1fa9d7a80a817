import { defineConfig } from "vitest/config";
import { LongFilesFirst } from "./support/long-files-first.ts";

export default defineConfig({
  test: {
    exclude: ["system/**", "soak/**", "bench/**", "node_modules/**"],
    globalSetup: "support/global-setup.ts",
    // Files share a module registry, because no module keeps state that affects another file. A new registry per
    // file would take as long as the tests.
    isolate: false,
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    // Each file runs complete nodes. On two cores, two workers leave a quarter of the processor time idle, which a
    // third worker uses.
    maxWorkers: 3,
    sequence: { sequencer: LongFilesFirst },
    provide: { effort: 1 },
    // These limits only end what hangs, on a busy machine too. Tests assert the deadlines of the product themselves.
    expect: { poll: { timeout: 90_000 } },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
