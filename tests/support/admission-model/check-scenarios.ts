import { openTestPool } from "@latchkey/db/testing/test-connection";
import fc from "fast-check";
import { expect } from "vitest";
import { open } from "../inspection.ts";
import { connectionTo } from "../postmaster.ts";
import { installSteppedClock } from "../stepped-clock.ts";
import { startTwoNodes } from "../two-nodes.ts";
import { runScenario } from "./run-scenario.ts";
import { type ScenarioCounts, zeroCounts } from "./scenario-counts.ts";
import type { NodesUnderTest } from "./stage.ts";
import { scenarios } from "./steps.ts";

/** The rarest kinds of events occur about four times in 15 scenarios, so one in 20 repetitions lacks one of them. */
const maxRepetitions = 4;

/**
 * Runs random scenarios on two nodes with one database, and checks each against the model. Prints how much was
 * checked, and expects that it was enough.
 *
 * @param options Runs `runs` scenarios, and repeats that until `seconds` have passed and each kind of event occurred, but
 *   after `seconds` at most `maxRepetitions` times.
 * @throws an Error with the seed, the path and the shortest failing scenario. Pass both to `fc.assert` to repeat the
 *   same steps; the order of concurrent requests can differ.
 */
export async function checkScenarios({
  runs,
  seconds = 0,
}: {
  readonly runs: number;
  readonly seconds?: number;
}): Promise<void> {
  const nodes = await startTwoNodes({ MAX_KEY_CHANGES_PER_HOUR: "1000000" });
  try {
    const baseUrls = [nodes.left.baseUrl, nodes.right.baseUrl];
    await letSessionsStayFresh(nodes.instance.cluster);
    await ignoreUsesInWorkspaces(nodes.instance.cluster);
    const clock = await installSteppedClock(nodes.instance.cluster);
    const db = openTestPool(await connectionTo(nodes.instance.cluster), { applicationName: "model" });
    try {
      const until = performance.now() + seconds * 1_000;
      const total: ScenarioCounts = { ...zeroCounts };
      let count = 0;
      let repetitions = 0;
      do {
        if (performance.now() >= until) repetitions += 1;
        await runScenarios({ baseUrls, db, clock }, runs, total);
        count += runs;
      } while (performance.now() < until || (findMissing(total).length > 0 && repetitions < maxRepetitions));
      console.info(`${count} random scenarios: ${JSON.stringify(total)}`);
      expectEnough(total, count);
    } finally {
      await db.destroy();
      await clock.close();
    }
  } finally {
    await nodes.close();
  }
}

async function runScenarios(stage: NodesUnderTest, runs: number, total: ScenarioCounts): Promise<void> {
  await fc.assert(
    fc.asyncProperty(scenarios, async (steps) => {
      const figures = await runScenario(stage, steps);
      for (const name of Object.keys(total) as (keyof ScenarioCounts)[]) total[name] += figures[name]; // The keys of `total` are those of the counts.
    }),
    { numRuns: runs, includeErrorInReport: true },
  );
}

/** Expects enough of each kind of event. */
function expectEnough(total: ScenarioCounts, count: number): void {
  const { admitted, rejected, open, unknown } = total;
  expect(admitted).toBeGreaterThan(20 * count);
  expect(rejected).toBeGreaterThan(10 * count);
  expect(open).toBeGreaterThan(count);
  expect(unknown).toBeLessThanOrEqual(admitted / 100);
  expect(findMissing(total)).toEqual([]);
}

/** The kinds of events that didn't occur. */
function findMissing({ unknown: _, ...total }: ScenarioCounts): readonly string[] {
  return Object.keys(total).filter((kind) => total[kind as keyof typeof total] === 0); // The keys of `total` are those of the counts.
}

/**
 * Nodes write the history of uses with a delay that the model doesn't know. Without it, the age of a key alone decides
 * whether the key is idle.
 */
async function ignoreUsesInWorkspaces(cluster: string): Promise<void> {
  const client = await open(await connectionTo(cluster));
  await client.query(`
    create function ignore_row() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger ignore_uses before insert on key_usage_hours for each row
    when (new.outcome = 'admitted' and new.workspace_id is not null) execute function ignore_row()`);
  await client.end();
}

/** The model has no passwords: moving the clock forward must not require one. */
async function letSessionsStayFresh(cluster: string): Promise<void> {
  const client = await open(await connectionTo(cluster));
  await client.query("alter table sessions alter column authenticated_at set default 'infinity'");
  await client.end();
}
