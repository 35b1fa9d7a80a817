import { afterAll, beforeAll, expect, test } from "vitest";
import { type FaultStage, setFaultStage } from "../support/fault-stage.ts";
import { countNodeConnections, readUses } from "../support/inspection.ts";
import { closeLedger, countAnswered, countStatuses, expectPunctual, slowestMs } from "../support/ledger.ts";
import { type Load, startLoad } from "../support/load.ts";
import { callOpen } from "../support/open-call.ts";
import { eventually } from "../support/postmaster.ts";

// A node whose Postgres answers late, by as much in each direction.

let stage: FaultStage;
beforeAll(async () => {
  stage = await setFaultStage();
});
afterAll(async () => {
  await stage?.close();
});

/** Load before, while and after Postgres is slow; how the load fared while it was. */
async function passThrough(latencyMs: number): Promise<Readonly<Record<string, number>>> {
  const { id, key } = await stage.knownKey(`slow by ${latencyMs} ms`);
  const load = startLoad({ baseUrls: [stage.node.baseUrl], key, connections: 40 });
  await load.reached(500);
  stage.proxy.slow(latencyMs);
  const slowAt = performance.now();
  // Each client at least twice, so that those are among them who find others waiting.
  await load.reached(load.outcomes.length + 100);
  const slowUntil = load.outcomes.length;
  stage.proxy.slow(0);
  const backMs = await expectService(load);
  const outcomes = await load.stop();
  const during = outcomes.slice(0, slowUntil).filter(({ sentAt }) => sentAt > slowAt);
  const counted = await readUses(stage.database, id);
  const refused = outcomes.length - countAnswered(outcomes);
  closeLedger(
    `Postgres slow by ${latencyMs} ms in each direction`,
    { answered: countAnswered(outcomes) + 1, counted, received: load.sent() + 1 },
    `${JSON.stringify(countStatuses(during))} while it was, slowest ${Math.round(slowestMs(during))} ms, ` +
      `in service ${Math.round(backMs)} ms after it`,
  );
  expectPunctual(outcomes);
  await expectOneConnection();
  // Where nobody was turned away, nothing is open.
  if (refused === 0) expect(counted).toBe(countAnswered(outcomes) + 1);
  expect((await callOpen(stage.node.baseUrl, key)).tookMs).toBeLessThan(500);
  return countStatuses(during);
}

/** All that is sent is admitted again: what had piled up would turn some away. @returns after how many milliseconds. */
async function expectService(load: Load): Promise<number> {
  const isServed = async (): Promise<boolean> => {
    const before = load.outcomes.length;
    await load.reached(before + 80);
    const latest = load.outcomes.slice(before);
    return latest.every(({ status, sentAt, endedAt }) => status === 200 && endedAt - sentAt < 500);
  };
  return await eventually("everybody is admitted again, and quickly", isServed, 5_000);
}

async function expectOneConnection(): Promise<void> {
  const isOne = async (): Promise<boolean> =>
    (await countNodeConnections(stage.database))["latchkey admission"] === 1;
  await eventually("admission has one connection to Postgres", isOne, 5_000);
}

test("a Postgres slower than usual slows callers down and turns nobody away", async () => {
  expect(Object.keys(await passThrough(50))).toEqual(["200"]);
});

test("a Postgres too slow for the deadline makes callers wait no longer than that, and nobody afterwards", async () => {
  expect((await passThrough(1_000))["503"]).toBeGreaterThan(0);
});

test("a Postgres that answers after five seconds is one that does not answer", async () => {
  expect(Object.keys(await passThrough(5_000))).toEqual(["503"]);
});
