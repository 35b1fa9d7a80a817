import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Charts by day start at midnight in the user's time zone. This zone has daylight saving time.
    env: { TZ: "America/New_York" },
    // A new module registry per file would take as long as the tests. No module keeps state that
    // affects another file.
    isolate: false,
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
    // These limits only end what hangs, on a busy machine too.
    expect: { poll: { timeout: 90_000 } },
    testTimeout: 300_000,
  },
});
