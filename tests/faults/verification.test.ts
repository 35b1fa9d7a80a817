import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey } from "../support/account.ts";
import { effort } from "../support/effort.ts";
import { createFaultEnvironment, type FaultEnvironment } from "../support/fault-environment.ts";
import { countNodeConnections, holdLocks, open } from "../support/inspection.ts";
import {
  createKeyspace,
  type IssuedKey,
  issuedKeyUuid,
  issueKey,
  type Keyspace,
  readCounter,
} from "../support/keyspace.ts";
import { type Load, type Outcome, startLoad } from "../support/load.ts";
import { busyMs, measureStall, quietMs } from "../support/machine-stall.ts";
import { eventually } from "../support/postmaster.ts";
import {
  countStatuses,
  expectAllUnavailable,
  expectWithinDeadline,
  quantileMs,
  verifyCounts,
} from "../support/request-counts.ts";
import type { CutPoint } from "../support/tcp-proxy.ts";

// Faults during the verification of issued keys with credits: what was granted is never more than what was spent.

const balance = 1_000_000;

let environment: FaultEnvironment;
let keyspace: Keyspace;
beforeAll(async () => {
  environment = await createFaultEnvironment();
  keyspace = await createKeyspace(environment.node.baseUrl, environment.account);
});
afterAll(async () => {
  await environment?.close();
});

function startVerifying({ key }: IssuedKey, connections: number): Load {
  const { baseUrl, callerKey } = keyspace;
  return startLoad({
    baseUrls: [baseUrl],
    key: callerKey,
    connections,
    path: "/open/keys/verify",
    body: { key },
  });
}

const countValid = (outcomes: readonly Outcome[]): number =>
  outcomes.filter(({ code }) => code === "VALID").length;

/** Expects that each valid response was committed, and that uses and credits are the same. Returns what was spent. */
async function expectCommitted(fault: string, key: IssuedKey, load: Load): Promise<number> {
  const { uses, credits } = await readCounter(environment.database, key);
  expect(uses).toBe(balance - credits);
  verifyCounts(`verifications, ${fault}`, {
    answered: countValid(load.outcomes),
    counted: uses,
    received: load.sent(),
  });
  return uses;
}

/** A multiple of the three statements that {@link cutStatements} cuts. */
const rounds = 3 * effort;

/** Cuts the connection under load, round after round, each time during this statement. Stops the load. */
async function cutStatements(load: Load, statement: string, point: CutPoint): Promise<readonly Outcome[]> {
  for (let round = 0; round < rounds; round += 1) {
    await load.reached(load.outcomes.length + 100);
    await environment.proxy.cutStatement("latchkey verification", statement, { point, passing: round % 3 });
  }
  await load.reached(load.outcomes.length + 200);
  return await load.stop();
}

/** Verifies a key with credits, and cuts the connection during the statement that writes the counters. */
async function cutUnderLoad(point: CutPoint, callers: number) {
  const key = await issueKey(keyspace, { credits: { remaining: balance } });
  const stopMeasuring = await measureStall(environment.node.baseUrl);
  const load = startVerifying(key, callers);
  const outcomes = await cutStatements(load, "verify-write", point);
  const stallMs = await stopMeasuring();
  const spent = await expectCommitted(`cut ${point} the commit, callers: ${callers}`, key, load);
  expectWithinDeadline(outcomes, stallMs);
  const valid = countValid(outcomes);
  return { valid, spent, lost: outcomes.length - valid };
}

test("credits that didn't reach Postgres before the connection broke are not spent, and not retried", async () => {
  const { valid, spent, lost } = await cutUnderLoad("before", 1);
  expect(lost).toBeGreaterThanOrEqual(rounds);
  // On a busy machine, other verifications get 503 at their deadline, and their credits may be spent.
  const timedOut = lost - rounds;
  expect(spent).toBeGreaterThanOrEqual(valid);
  expect(spent).toBeLessThanOrEqual(valid + timedOut);
});

test.each<CutPoint>(["before", "during", "after"])(
  "if the connection is cut %s the statement that counts keys without meters, each use is counted at most once",
  async (point) => {
    const key = await issueKey(keyspace);
    for (const callers of [1, 32]) {
      const before = (await readCounter(environment.database, key)).uses;
      const stopMeasuring = await measureStall(environment.node.baseUrl);
      const load = startVerifying(key, callers);
      const outcomes = await cutStatements(load, "verify-count", point);
      const answered = countValid(outcomes);
      const counted = (await readCounter(environment.database, key)).uses - before;
      verifyCounts(`verifications without meters, cut ${point} the statement, callers: ${callers}`, {
        answered,
        counted,
        received: load.sent(),
      });
      expectWithinDeadline(outcomes, await stopMeasuring());
      const lost = outcomes.length - answered;
      expect(lost).toBeGreaterThanOrEqual(rounds);
      // On a busy machine, other verifications get 503 at their deadline, and may be counted.
      if (point === "before" && callers === 1) expect(counted).toBeLessThanOrEqual(answered + lost - rounds);
    }
  },
);

test.each<CutPoint>(["during", "after"])(
  "if the connection is cut %s the commit, credits are spent at most once, and its callers get 503",
  async (point) => {
    const single = await cutUnderLoad(point, 1);
    expect(single.lost).toBeGreaterThanOrEqual(rounds);
    expect(single.spent).toBeLessThanOrEqual(single.valid + single.lost);
    const { lost, spent, valid } = await cutUnderLoad(point, 32);
    expect(lost).toBeGreaterThanOrEqual(rounds);
    expect(spent).toBeLessThanOrEqual(valid + lost);
  },
);

test("credits with an unknown commit are spent once or not at all", async () => {
  const key = await issueKey(keyspace, { credits: { remaining: balance } });
  const client = await open(environment.database);
  environment.proxy.slow(5);
  const stopMeasuring = await measureStall(environment.node.baseUrl);
  try {
    const load = startVerifying(key, 32);
    for (let round = 0; round < 12 * effort; round += 1) {
      await load.reached(load.outcomes.length + 100);
      // Each round ends the connection a little later between one statement and the next, at most 22 ms.
      await delay((2 * round) % 24);
      await client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'latchkey verification'",
      );
    }
    await load.stop();
    await expectCommitted("connection ended by Postgres", key, load);
    expect(countStatuses(load.outcomes)["503"]).toBeGreaterThan(0);
    expectWithinDeadline(load.outcomes, await stopMeasuring());
  } finally {
    environment.proxy.slow(0);
    await client.end();
  }
});

test("a Postgres that stops responding makes every verification get 503 in time, and only until it responds again", async () => {
  const key = await issueKey(keyspace, { credits: { remaining: balance } });
  const stopMeasuring = await measureStall(environment.node.baseUrl);
  const load = startVerifying(key, 16);
  await load.reached(200);
  environment.proxy.hold();
  const heldAt = performance.now();
  await load.reached(load.outcomes.length + 48);
  const during = load.outcomes.filter(({ sentAt }) => sentAt > heldAt);
  environment.proxy.release();
  const isServed = async () => {
    const from = load.outcomes.length;
    await load.reached(from + 32);
    return load.outcomes.slice(from).every(({ status }) => status === 200);
  };
  await eventually("keys are verified again", isServed);
  await load.stop();
  await expectCommitted("Postgres does not respond", key, load);
  expectAllUnavailable(during);
  expectWithinDeadline(load.outcomes, await stopMeasuring());
  const hasOneConnection = async () =>
    (await countNodeConnections(environment.database))["latchkey verification"] === 1;
  await eventually("the verifier has one connection", hasOneConnection);
});

test("a request with a key that the node doesn't remember gets 503 in time if Postgres stops responding", async () => {
  const { baseUrl } = keyspace;
  const { key: unused } = await createKey(baseUrl, environment.account, "unused");
  const stopMeasuring = await measureStall(baseUrl);
  environment.proxy.hold();
  try {
    const load = startLoad({
      baseUrls: [baseUrl],
      key: unused,
      connections: 4,
      path: "/open/keys/verify",
      body: {},
    });
    await load.reached(8);
    const outcomes = await load.stop();
    expectAllUnavailable(outcomes);
    expectWithinDeadline(outcomes, await stopMeasuring());
  } finally {
    environment.proxy.release();
  }
  await environment.recovered();
});

test("a locked counter makes verifications of its key get 503, and delays no others", async () => {
  const [lockedKey, freeKey] = [
    await issueKey(keyspace, { credits: { remaining: balance } }),
    await issueKey(keyspace, { credits: { remaining: balance } }),
  ];
  const stopMeasuring = await measureStall(environment.node.baseUrl);
  const [locked, free] = [startVerifying(lockedKey, 8), startVerifying(freeKey, 8)];
  await Promise.all([locked.reached(100), free.reached(100)]);
  const { release } = await holdLocks(
    environment.database,
    "select from key_counters where key_id = $1 for update",
    [issuedKeyUuid(lockedKey.id)],
  );
  const lockedAt = performance.now();
  await locked.reached(locked.outcomes.length + 24);
  const during = locked.outcomes.filter(({ sentAt }) => sentAt > lockedAt);
  const freeUntilRejected = free.outcomes.filter(({ sentAt }) => sentAt > lockedAt).length;
  // On a busy machine, these can take longer than the verifications that wait for the lock.
  await free.reached(free.outcomes.length + 200);
  const freeDuring = free.outcomes.filter(({ sentAt }) => sentAt > lockedAt);
  await release();
  const isServed = async () => {
    const from = locked.outcomes.length;
    await locked.reached(from + 16);
    return locked.outcomes.slice(from).every(({ code }) => code === "VALID");
  };
  const backMs = await eventually("its keys are verified again", isServed);
  await Promise.all([locked.stop(), free.stop()]);
  const stallMs = await stopMeasuring();
  // A busy machine delays each of several consecutive verifications.
  expect(backMs).toBeLessThan(5_000 + 5 * stallMs);
  await expectCommitted("one key's counter locked", lockedKey, locked);
  await expectCommitted("others at the same time", freeKey, free);
  expectAllUnavailable(during);
  expectWithinDeadline([...locked.outcomes, ...free.outcomes], stallMs);
  if (stallMs < busyMs) expect(countStatuses(free.outcomes)).toEqual({ 200: free.outcomes.length });
  // The requests with the locked key took 1.5 s each, and those with the free key waited for none of that.
  const factor = stallMs < quietMs ? 10 : 3;
  if (stallMs < busyMs) expect(freeUntilRejected).toBeGreaterThan(factor * during.length);
  // Only the batch that finds the counter locked waits for it, for 100 ms. A busy machine delays each of the statements of a batch.
  expect(quantileMs(freeDuring, 0.98)).toBeLessThan(300 + 4 * stallMs);
});
