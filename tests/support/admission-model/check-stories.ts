import { openDatabase } from "@latchkey/db/connection";
import fc from "fast-check";
import { expect } from "vitest";
import { connectionTo } from "../postmaster.ts";
import { installSteppedClock } from "../stepped-clock.ts";
import { startTwoNodes } from "../two-nodes.ts";
import { type Figures, noFigures } from "./figures.ts";
import { stories } from "./steps.ts";
import { type Stage, tellStory } from "./tell-story.ts";

/**
 * Tells random stories to two nodes on one database, one after the other, and checks each against the model; prints
 * how much that was, and expects that it was enough to prove anything.
 *
 * @param options `runs` stories are told, and as many again until the `seconds` are over, if there are any.
 * @throws an Error with seed, path and the shortest story that was found to fail. Give both to `fc.assert` to see the
 *   same steps again; how requests that overlap fall out is up to the machine.
 */
export async function checkStories({
  runs,
  seconds = 0,
}: {
  readonly runs: number;
  readonly seconds?: number;
}): Promise<void> {
  const nodes = await startTwoNodes();
  try {
    const baseUrls = [nodes.left.baseUrl, nodes.right.baseUrl];
    const clock = await installSteppedClock(nodes.place.cluster);
    const db = openDatabase(await connectionTo(nodes.place.cluster), { applicationName: "model" });
    try {
      const until = performance.now() + seconds * 1_000;
      const total: Figures = { ...noFigures };
      let told = 0;
      do {
        await tellStories({ baseUrls, db, clock }, runs, total);
        told += runs;
      } while (performance.now() < until);
      console.info(`${told} random stories: ${JSON.stringify(total)}`);
      expectEnough(total, told);
    } finally {
      await db.destroy();
      await clock.close();
    }
  } finally {
    await nodes.close();
  }
}

async function tellStories(stage: Stage, runs: number, total: Figures): Promise<void> {
  await fc.assert(
    fc.asyncProperty(stories, async (steps) => {
      const figures = await tellStory(stage, steps);
      for (const name of Object.keys(total) as (keyof Figures)[]) total[name] += figures[name]; // It has these alone.
    }),
    { numRuns: runs, includeErrorInReport: true },
  );
}

/** Stories without these would prove little. */
function expectEnough(total: Figures, told: number): void {
  const { admitted, refused, open, unknown, ...done } = total;
  expect(admitted).toBeGreaterThan(20 * told);
  expect(refused).toBeGreaterThan(10 * told);
  expect(open).toBeGreaterThan(told);
  expect(unknown).toBeLessThanOrEqual(admitted / 100);
  // Each kind of change, and lists.
  for (const [kind, count] of Object.entries(done)) expect(count, kind).toBeGreaterThan(0);
}
