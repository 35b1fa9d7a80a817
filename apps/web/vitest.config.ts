import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Days of charts begin at midnight of the reader. This zone changes its clocks.
    env: { TZ: "America/New_York" },
    // A fresh module registry for each file would cost as much as the tests; no module keeps state that another file meets.
    isolate: false,
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
  },
});
