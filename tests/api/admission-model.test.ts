import { expect, test } from "vitest";
import { checkStories } from "../support/admission-model/check-stories.ts";

// Keys are created, renamed, deleted and used, users disabled and enabled, in random order and at the same time,
// over two nodes on one database. A model says what each answer may be.

test("no random story, told to two nodes, has an answer that is stale or a use that is not counted once", async () => {
  const runs = 50;
  const figures = await checkStories(runs);
  console.info(`${runs} random stories: ${JSON.stringify(figures)}`);
  // Stories without these would prove little.
  expect(figures.admitted).toBeGreaterThan(20 * runs);
  expect(figures.refused).toBeGreaterThan(10 * runs);
  expect(figures.open).toBeGreaterThan(2 * runs);
  expect(figures.unknown).toBeLessThanOrEqual(figures.admitted / 100);
});
