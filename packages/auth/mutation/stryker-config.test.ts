import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import config from "./stryker.config.json" with { type: "json" };

test("every module with mutations exists, so that none is left out after it was renamed or moved", () => {
  const root = join(import.meta.dirname, "..");
  expect(config.mutate.length).toBeGreaterThan(0);
  expect(config.mutate.filter((module) => !existsSync(join(root, module)))).toEqual([]);
});
