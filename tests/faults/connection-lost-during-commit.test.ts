import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFaultEnvironment, type FaultEnvironment } from "../support/fault-environment.ts";
import { open, readUses } from "../support/inspection.ts";
import { startLoad } from "../support/load.ts";
import { busyMs, measureStall } from "../support/machine-stall.ts";
import { eventually } from "../support/postmaster.ts";
import { countAnswered, expectWithinDeadline, verifyCounts } from "../support/request-counts.ts";
import type { CutPoint } from "../support/tcp-proxy.ts";

// The connection ends during the counting statement, which is its own transaction. The node can't know whether the
// statement was committed, and must neither guess nor retry. With one caller, there is one statement, and the test
// knows its outcome. With many callers, another statement runs before or after it, and its outcome is unknown.

let environment: FaultEnvironment;
beforeAll(async () => {
  environment = await createFaultEnvironment();
});
afterAll(async () => {
  await environment?.close();
});

interface Uses {
  readonly answered: number;
  readonly counted: number;
  /** The uses whose callers got 503. */
  readonly lost: number;
  readonly stallMs: number;
}

/** Ends the connection under load, round after round, each time while a request waits for a reply on it. */
async function endUnderLoad(
  fault: string,
  { rounds, callers }: { readonly rounds: number; readonly callers: number },
  endConnection: (round: number) => Promise<unknown>,
): Promise<Uses> {
  const { id, key } = await environment.knownKey(fault);
  const stopMeasuring = await measureStall(environment.node.baseUrl);
  const load = startLoad({ baseUrls: [environment.node.baseUrl], key, connections: callers });
  for (let round = 0; round < rounds; round += 1) {
    await load.reached(load.outcomes.length + 100);
    await endConnection(round);
  }
  await load.reached(load.outcomes.length + 200);
  const outcomes = await load.stop();
  const answered = countAnswered(outcomes) + 1;
  const lost = outcomes.length + 1 - answered;
  const counted = await readUses(environment.database, id);
  verifyCounts(
    `the connection ${fault}, ${rounds} times`,
    { answered, counted, received: load.sent() + 1 },
    `503 to ${lost}, of whom ${counted - answered} were counted`,
  );
  const stallMs = await stopMeasuring();
  expectWithinDeadline(outcomes, stallMs);
  return { answered, counted, lost, stallMs };
}

const rounds = 8;

function cutUnderLoad(point: CutPoint, callers: number): Promise<Uses> {
  return endUnderLoad(`cut ${point} the commit, callers: ${callers}`, { rounds, callers }, (round) =>
    // Of two consecutive statements, one often has a single request, and the other all others.
    // On the same connection, the node also checks whether an outage has ended, with a statement that counts nothing.
    environment.proxy.cutStatement("latchkey admission", "admit-count", { point, passing: round % 3 }),
  );
}

/** Expects that the one caller got 503 in each round. On a busy machine, other uses get 503 at their deadline, and may be counted. */
function expectLostInEachRound({ lost, stallMs }: Uses): void {
  expect(lost).toBeGreaterThanOrEqual(rounds);
  if (stallMs < busyMs) expect(lost).toBe(rounds);
}

test("a use that was committed before the connection broke is counted once, and its caller gets 503", async () => {
  const uses = await cutUnderLoad("after", 1);
  expectLostInEachRound(uses);
  const { answered, counted, lost } = uses;
  expect(counted).toBeGreaterThanOrEqual(answered + rounds);
  expect(counted).toBeLessThanOrEqual(answered + lost);
});

test("a use that didn't reach Postgres is not counted and not retried", async () => {
  const uses = await cutUnderLoad("before", 1);
  expectLostInEachRound(uses);
  const { answered, counted, lost } = uses;
  expect(counted).toBeGreaterThanOrEqual(answered);
  expect(counted).toBeLessThanOrEqual(answered + lost - rounds);
});

test("a use that reached Postgres before the connection broke is counted at most once, and its caller gets 503", async () => {
  const uses = await cutUnderLoad("during", 1);
  expectLostInEachRound(uses);
  const { answered, counted, lost } = uses;
  // Postgres usually executes the statement. On a busy machine, the next statement, on a new connection, can overtake it
  // and hold the row for longer than the lock timeout, which aborts the first one.
  expect(counted).toBeGreaterThan(answered);
  expect(counted).toBeLessThanOrEqual(answered + lost);
});

test.each<CutPoint>(["before", "during", "after"])(
  "if the connection is cut %s the commit of one of two consecutive statements, committed uses are counted once and all callers get 503",
  async (point) => {
    const { answered, counted, lost } = await cutUnderLoad(point, 32);
    // Each cut interrupts a statement, and each statement has a waiting request.
    expect(lost).toBeGreaterThanOrEqual(rounds);
    expect(counted).toBeGreaterThanOrEqual(answered + (point === "after" ? rounds : 0));
    expect(counted).toBeLessThanOrEqual(answered + lost);
  },
);

/** Ends the session of admission, when there is exactly one: after each end, the node connects again. */
async function endAdmissionBackend(client: pg.Client): Promise<void> {
  const text =
    "select pid from pg_stat_activity where datname = current_database() and application_name = 'latchkey admission'";
  let pids: readonly number[] = [];
  await eventually("admission has one session", async () => {
    pids = (await client.query<{ pid: number }>(text)).rows.map(({ pid }) => pid);
    return pids.length === 1;
  });
  await client.query("select pg_terminate_backend($1)", [...pids]);
}

test("uses with an unknown commit are counted once or not at all, and both occur", async () => {
  const terminations = 24;
  const client = await open(environment.database);
  try {
    let [counted, lost] = [0, 0];
    // Whether a statement was committed depends on moments that the test can't choose, so it repeats the rounds. On a busy machine, a
    // longer latency keeps statements and responses in flight for more of the time.
    for (let latencyMs = 5; latencyMs <= 80 && (counted === 0 || counted === lost); latencyMs *= 2) {
      environment.proxy.slow(latencyMs);
      const uses = await endUnderLoad(
        "ended by Postgres, statement or response in flight",
        { rounds: terminations, callers: 32 },
        async (round) => {
          // Each round cuts a little later between one statement and the next.
          await delay((round * 4 * latencyMs) / terminations);
          await endAdmissionBackend(client);
        },
      );
      expect(uses.counted).toBeGreaterThanOrEqual(uses.answered);
      expect(uses.counted).toBeLessThanOrEqual(uses.answered + uses.lost);
      counted += uses.counted - uses.answered;
      lost += uses.lost;
    }
    expect(counted).toBeGreaterThan(0);
    expect(counted).toBeLessThan(lost);
  } finally {
    environment.proxy.slow(0);
    await client.end();
  }
});
