import { afterAll, beforeAll, expect, test } from "vitest";
import { type CreatedKey, createKey } from "../support/account.ts";
import { createFaultEnvironment, type FaultEnvironment } from "../support/fault-environment.ts";
import { holdLocks, readUses, toUuid } from "../support/inspection.ts";
import { type Load, type Outcome, startLoad } from "../support/load.ts";
import { busyMs, measureStall, quietMs } from "../support/machine-stall.ts";
import { eventually } from "../support/postmaster.ts";
import {
  countAnswered,
  countStatuses,
  expectAllUnavailable,
  expectWithinDeadline,
  quantileMs,
  slowestMs,
  verifyCounts,
} from "../support/request-counts.ts";

// Another transaction holds locks for longer than any request waits.

/**
 * The node waits for a lock once, for 100 ms, before it continues without the keys that need it; and it has other
 * work. A busy machine delays each of the statements of a batch.
 */
const unnoticedMs = 300;
/** Well below the 2 s after which a request gets 503. On a busy machine, a few requests wait for the processor. */
const neverLongerMs = 1_000;

/**
 * Expects that requests were admitted, and didn't wait for a lock of another transaction.
 * @param stallMs how long the machine delayed responses that wait for nothing, in milliseconds.
 */
function expectUnnoticed(outcomes: readonly Outcome[], stallMs: number): void {
  const { 200: admitted = 0, ...others } = countStatuses(outcomes);
  if (stallMs < busyMs) expect(others).toEqual({});
  else expect(admitted).toBeGreaterThan(0.9 * outcomes.length);
  expect(quantileMs(outcomes, 0.98)).toBeLessThan(unnoticedMs + 4 * stallMs);
  expect(slowestMs(outcomes)).toBeLessThan(neverLongerMs + 4 * stallMs);
}

let environment: FaultEnvironment;
let lockedKey: CreatedKey;
let freeKey: CreatedKey;
beforeAll(async () => {
  environment = await createFaultEnvironment();
  lockedKey = await environment.knownKey("with locked rows");
  freeKey = await environment.knownKey("without locked rows");
});
afterAll(async () => {
  await environment?.close();
});

const runLoad = ({ key }: CreatedKey, connections: number): Load =>
  startLoad({ baseUrls: [environment.node.baseUrl], key, connections });

async function closeLoads(fault: string, loads: readonly (readonly [CreatedKey, Load])[], before: number) {
  const outcomes = loads.flatMap(([, load]) => load.outcomes);
  const counts = await Promise.all(loads.map(([{ id }]) => readUses(environment.database, id)));
  verifyCounts(
    fault,
    {
      answered: countAnswered(outcomes),
      counted: counts.reduce((sum, count) => sum + count, 0) - before,
      received: loads.reduce((sum, [, load]) => sum + load.sent(), 0),
    },
    `slowest answer ${Math.round(slowestMs(outcomes))} ms`,
  );
}

const countBoth = async (): Promise<number> =>
  (await readUses(environment.database, lockedKey.id)) + (await readUses(environment.database, freeKey.id));

test("a locked row of one key makes its callers get 503, and delays no others", async () => {
  const before = await countBoth();
  const stopMeasuring = await measureStall(environment.node.baseUrl);
  const [locked, free] = [runLoad(lockedKey, 16), runLoad(freeKey, 16)];
  await Promise.all([locked.reached(200), free.reached(200)]);
  const { release } = await holdLocks(
    environment.database,
    "select from key_counters where key_id = $1 for update",
    [toUuid(lockedKey.id)],
  );
  const lockedAt = performance.now();
  await locked.reached(locked.outcomes.length + 32);
  const duringLock = locked.outcomes.filter(({ sentAt }) => sentAt > lockedAt);
  const freeUntilRejected = free.outcomes.filter(({ sentAt }) => sentAt > lockedAt).length;
  // Many requests, not only a few between two waits. On a busy machine, they can take longer than those with the locked key.
  await free.reached(free.outcomes.length + 500);
  const freeDuringLock = free.outcomes.filter(({ sentAt }) => sentAt > lockedAt);
  await release();
  const isServed = async (): Promise<boolean> => {
    const from = locked.outcomes.length;
    await locked.reached(from + 32);
    return locked.outcomes.slice(from).every(({ status }) => status === 200);
  };
  const backMs = await eventually("its callers are admitted again", isServed);
  await Promise.all([locked.stop(), free.stop()]);
  const stallMs = await stopMeasuring();
  await closeLoads(
    "one key's row locked",
    [
      [lockedKey, locked],
      [freeKey, free],
    ],
    before,
  );
  console.info(
    `others at the same time: ${freeDuringLock.length} admitted, 99 of 100 within ${Math.round(quantileMs(freeDuringLock, 0.99))} ms, ` +
      `all within ${Math.round(slowestMs(freeDuringLock))} ms; admitted again after ${Math.round(backMs)} ms`,
  );
  // A busy machine delays each of several consecutive requests.
  expect(backMs).toBeLessThan(5_000 + 5 * stallMs);
  expectWithinDeadline([...locked.outcomes, ...free.outcomes], stallMs);
  expectAllUnavailable(duringLock);
  if (stallMs < busyMs) expect(countStatuses(free.outcomes)).toEqual({ 200: free.outcomes.length });
  // The requests with the locked key took 1.5 s each, and those with the free key waited for none of that.
  const factor = stallMs < quietMs ? 10 : 3;
  if (stallMs < busyMs) expect(freeUntilRejected).toBeGreaterThan(factor * duringLock.length);
  expectUnnoticed(freeDuringLock, stallMs);
});

test("locked rows of keys and their users delay no admission, even of keys that are new to the node", async () => {
  const before = await countBoth();
  const { node, account } = environment;
  const fresh = await Promise.all(
    Array.from({ length: 8 }, (_, index) => createKey(node.baseUrl, account, `fresh ${index}`)),
  );
  const stopMeasuring = await measureStall(environment.node.baseUrl);
  const loads = [runLoad(lockedKey, 8), runLoad(freeKey, 8)] as const;
  await Promise.all(loads.map((load) => load.reached(100)));
  const { release } = await holdLocks(
    environment.database,
    "select from api_keys join users on users.id = api_keys.user_id for update",
  );
  // Remembered facts need neither row; the first use of a key reads both.
  const firstUses = fresh.map((created) => {
    const load = startLoad({ baseUrls: [node.baseUrl], key: created.key, connections: 4, requests: 20 });
    return [created, load] as const;
  });
  await Promise.all([
    ...loads.map((load) => load.reached(load.outcomes.length + 300)),
    ...firstUses.map(([, { ended }]) => ended),
  ]);
  await release();
  await Promise.all(loads.map((load) => load.stop()));
  const stallMs = await stopMeasuring();
  await closeLoads(
    "rows of keys and users locked",
    [[lockedKey, loads[0]], [freeKey, loads[1]], ...firstUses],
    before,
  );
  const outcomes = [...loads, ...firstUses.map(([, load]) => load)].flatMap((load) => load.outcomes);
  expectUnnoticed(outcomes, stallMs);
});

test.each(["exclusive", "access exclusive"])(
  "a table lock on the counters in %s mode makes every caller get 503 in time, and only while it is held",
  async (mode) => {
    const before = await countBoth();
    const stopMeasuring = await measureStall(environment.node.baseUrl);
    const loads = [runLoad(lockedKey, 16), runLoad(freeKey, 16)] as const;
    await Promise.all(loads.map((load) => load.reached(100)));
    const { release } = await holdLocks(environment.database, `lock table key_counters in ${mode} mode`);
    const lockedAt = performance.now();
    await Promise.all(loads.map((load) => load.reached(load.outcomes.length + 48)));
    const during = loads.flatMap((load) => load.outcomes.filter(({ sentAt }) => sentAt > lockedAt));
    const releasedAt = performance.now();
    await release();
    const backMs = await environment.recovered();
    await Promise.all(loads.map((load) => load.reached(load.outcomes.length + 100)));
    await Promise.all(loads.map((load) => load.stop()));
    const stallMs = await stopMeasuring();
    await closeLoads(
      `the table of counters locked, ${mode}`,
      [
        [lockedKey, loads[0]],
        [freeKey, loads[1]],
      ],
      before,
    );
    const outcomes = loads.flatMap((load) => load.outcomes);
    expectWithinDeadline(outcomes, stallMs);
    expectAllUnavailable(during);
    expect(backMs).toBeLessThan(2_000 + stallMs);
    const late = outcomes.filter(({ sentAt }) => sentAt > releasedAt + 500 + 4 * stallMs);
    if (stallMs < busyMs) expect(countStatuses(late)).not.toHaveProperty("503");
  },
);
