import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // A fresh module registry for each file would cost as much as the tests; no module keeps state that another file meets.
    isolate: false,
    reporters: ["default", "json"],
    outputFile: { json: ".results/tests.json" },
  },
});
