import { openDatabase } from "@latchkey/db/connection";
import fc from "fast-check";
import { createPlace } from "../place.ts";
import { connectionTo } from "../postmaster.ts";
import type { Figures } from "./model.ts";
import { stories } from "./steps.ts";
import { type Stage, tellStory } from "./tell-story.ts";

/**
 * Tells so many random stories to two nodes on one database, one after the other, and checks each against the model.
 * @throws an Error with seed, path and the shortest story that was found to fail. Give both to `fc.assert` to see the
 *   same steps again; how requests that overlap fall out is up to the machine.
 * @returns how much all of them checked together.
 */
export async function checkStories(runs: number): Promise<Figures> {
  const place = await createPlace();
  try {
    const nodes = await Promise.all([place.start(), place.start()]);
    const db = openDatabase(await connectionTo(place.cluster), { applicationName: "model" });
    try {
      return await tellStories({ baseUrls: nodes.map(({ baseUrl }) => baseUrl), db }, runs);
    } finally {
      await db.destroy();
    }
  } finally {
    await place.close();
  }
}

async function tellStories(stage: Stage, runs: number): Promise<Figures> {
  const total: Figures = { admitted: 0, refused: 0, unknown: 0, open: 0, changes: 0, listings: 0 };
  await fc.assert(
    fc.asyncProperty(stories, async (steps) => {
      const figures = await tellStory(stage, steps);
      for (const name of Object.keys(total) as (keyof Figures)[]) total[name] += figures[name]; // It has these alone.
    }),
    { numRuns: runs, includeErrorInReport: true },
  );
  return total;
}
