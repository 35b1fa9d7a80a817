import { afterAll, beforeAll, expect, test } from "vitest";
import { createFaultEnvironment, type FaultEnvironment } from "../support/fault-environment.ts";
import { countNodeConnections, readUses } from "../support/inspection.ts";
import { type Load, type Outcome, startLoad } from "../support/load.ts";
import { measureStall } from "../support/machine-stall.ts";
import { callOpen } from "../support/open-call.ts";
import { eventually } from "../support/postmaster.ts";
import {
  countAnswered,
  countStatuses,
  expectAllAdmitted,
  expectAllUnavailable,
  expectWithinDeadline,
  slowestMs,
  verifyCounts,
} from "../support/request-counts.ts";

// A node whose Postgres is slow, with the same latency in each direction.

let environment: FaultEnvironment;
beforeAll(async () => {
  environment = await createFaultEnvironment();
});
afterAll(async () => {
  await environment?.close();
});

interface SlowResult {
  /** The requests while Postgres was slow. */
  readonly during: readonly Outcome[];
  /** How long the machine delayed responses that wait for nothing, in milliseconds. */
  readonly stallMs: number;
}

/** Sends requests before, while and after Postgres is slow. */
async function loadWhileSlow(latencyMs: number): Promise<SlowResult> {
  const { id, key } = await environment.knownKey(`slow by ${latencyMs} ms`);
  const stopMeasuring = await measureStall(environment.node.baseUrl);
  const load = startLoad({ baseUrls: [environment.node.baseUrl], key, connections: 40 });
  await load.reached(500);
  const usualMs = slowestMs(load.outcomes);
  environment.proxy.slow(latencyMs);
  const slowAt = performance.now();
  // At least two responses per client, so that some requests arrive while others wait.
  await load.reached(load.outcomes.length + 100);
  const slowUntil = load.outcomes.length;
  environment.proxy.slow(0);
  const backMs = await expectService(load, usualMs);
  const outcomes = await load.stop();
  const during = outcomes.slice(0, slowUntil).filter(({ sentAt }) => sentAt > slowAt);
  const counted = await readUses(environment.database, id);
  const rejected = outcomes.length - countAnswered(outcomes);
  verifyCounts(
    `Postgres slow by ${latencyMs} ms in each direction`,
    { answered: countAnswered(outcomes) + 1, counted, received: load.sent() + 1 },
    `${JSON.stringify(countStatuses(during))} while it was, slowest ${Math.round(slowestMs(during))} ms, ` +
      `in service ${Math.round(backMs)} ms after it`,
  );
  await expectOneConnection();
  // If no request failed, the count is exact.
  if (rejected === 0) expect(counted).toBe(countAnswered(outcomes) + 1);
  const { tookMs } = await callOpen(environment.node.baseUrl, key);
  const stallMs = await stopMeasuring();
  expectWithinDeadline(outcomes, stallMs);
  expect(tookMs).toBeLessThan(500 + stallMs);
  return { during, stallMs };
}

/**
 * Waits until all requests are admitted quickly again, which a backlog would prevent. Returns the time in milliseconds.
 * @param usualMs the slowest response before Postgres was slow, in milliseconds.
 */
async function expectService(load: Load, usualMs: number): Promise<number> {
  const isServed = async (): Promise<boolean> => {
    const before = load.outcomes.length;
    await load.reached(before + 80);
    const latest = load.outcomes.slice(before);
    return latest.every(({ status }) => status === 200) && slowestMs(latest) < 500 + usualMs;
  };
  return await eventually("all requests are admitted quickly again", isServed);
}

async function expectOneConnection(): Promise<void> {
  const hasOneConnection = async (): Promise<boolean> =>
    (await countNodeConnections(environment.database))["latchkey admission"] === 1;
  await eventually("admission has one connection to Postgres", hasOneConnection);
}

test("admits every request while Postgres is slow but within the deadline", async () => {
  const { during, stallMs } = await loadWhileSlow(50);
  expectAllAdmitted(during, stallMs);
});

test("returns 503 at the deadline while Postgres is too slow, and admits every request afterwards", async () => {
  expect(countStatuses((await loadWhileSlow(1_000)).during)["503"]).toBeGreaterThan(0);
});

test("treats a Postgres that responds after five seconds as unavailable", async () => {
  expectAllUnavailable((await loadWhileSlow(5_000)).during);
});
