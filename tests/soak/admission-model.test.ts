import { expect, test } from "vitest";
import { env } from "../env.ts";
import { checkStories } from "../support/admission-model/check-stories.ts";

test("many more random stories have no answer that is stale and no use that is not counted once", async () => {
  // A story takes about a quarter of a second.
  const runs = env.soakSeconds * 8;
  const figures = await checkStories(runs);
  console.info(`${runs} random stories: ${JSON.stringify(figures)}`);
  expect(figures.admitted).toBeGreaterThan(20 * runs);
  expect(figures.refused).toBeGreaterThan(10 * runs);
  expect(figures.open).toBeGreaterThan(2 * runs);
  expect(figures.unknown).toBeLessThanOrEqual(figures.admitted / 100);
});
