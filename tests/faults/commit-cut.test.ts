import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FaultStage, setFaultStage } from "../support/fault-stage.ts";
import { open, readUses } from "../support/inspection.ts";
import { closeLedger, countAnswered, expectPunctual } from "../support/ledger.ts";
import { startLoad } from "../support/load.ts";
import type { CutPoint } from "../support/tcp-proxy.ts";

// The connection ends under the statement that counts, which is its own transaction. The node cannot know on which
// side of the commit, and must neither guess nor try again. Where one caller asks at a time there is one statement, and
// what became of it is known here; where many do, another is ahead of it or behind it, and may go either way.

let stage: FaultStage;
beforeAll(async () => {
  stage = await setFaultStage();
});
afterAll(async () => {
  await stage?.close();
});

interface Uses {
  readonly answered: number;
  readonly counted: number;
  /** Those whose callers got 503. */
  readonly lost: number;
}

/** Load under which the connection ends round after round; each time somebody waits for an answer over it. */
async function endUnderLoad(
  fault: string,
  { rounds, callers }: { readonly rounds: number; readonly callers: number },
  endConnection: (round: number) => Promise<unknown>,
): Promise<Uses> {
  const { id, key } = await stage.knownKey(fault);
  const load = startLoad({ baseUrls: [stage.node.baseUrl], key, connections: callers });
  for (let round = 0; round < rounds; round += 1) {
    await load.reached(load.outcomes.length + 100);
    await endConnection(round);
  }
  await load.reached(load.outcomes.length + 200);
  const outcomes = await load.stop();
  const answered = countAnswered(outcomes) + 1;
  const lost = outcomes.length + 1 - answered;
  const counted = await readUses(stage.database, id);
  closeLedger(
    `the connection ${fault}, ${rounds} times`,
    { answered, counted, received: load.sent() + 1 },
    `503 to ${lost}, of whom ${counted - answered} were counted`,
  );
  expectPunctual(outcomes);
  return { answered, counted, lost };
}

const rounds = 8;

function cutUnderLoad(point: CutPoint, callers: number): Promise<Uses> {
  return endUnderLoad(`cut ${point} the commit, callers: ${callers}`, { rounds, callers }, (round) =>
    // Of two statements that follow each other one tends to be somebody's alone, and the other everybody else's.
    // The node also asks the same connection, in a statement that counts nothing, whether an outage is over.
    stage.proxy.cutStatement("latchkey admission", "admit-count", { point, passing: round % 3 }),
  );
}

test("a use whose commit was done when the connection broke is counted once, and its caller gets 503", async () => {
  const { answered, counted, lost } = await cutUnderLoad("after", 1);
  expect(lost).toBe(rounds);
  expect(counted).toBe(answered + lost);
});

test("a use that Postgres never heard of is not counted, and not tried again", async () => {
  const { answered, counted, lost } = await cutUnderLoad("before", 1);
  expect(lost).toBe(rounds);
  expect(counted).toBe(answered);
});

test("a use that Postgres had just heard of is counted once all the same, and its caller gets 503", async () => {
  const { answered, counted, lost } = await cutUnderLoad("during", 1);
  expect(lost).toBe(rounds);
  expect(counted).toBe(answered + lost);
});

test.each<CutPoint>(["before", "during", "after"])(
  "of two statements in a row, cut %s the commit of one, what was committed is counted once and all callers get 503",
  async (point) => {
    const { answered, counted, lost } = await cutUnderLoad(point, 32);
    // Each cut meets a statement, and each statement somebody who waits for it.
    expect(lost).toBeGreaterThanOrEqual(rounds);
    expect(counted).toBeGreaterThanOrEqual(answered + (point === "after" ? rounds : 0));
    expect(counted).toBeLessThanOrEqual(answered + lost);
  },
);

test("uses of which nobody knows whether they were committed are counted once or not at all, and both happens", async () => {
  const terminations = 24;
  const latencyMs = 5;
  const client = await open(stage.database);
  stage.proxy.slow(latencyMs);
  try {
    const { answered, counted, lost } = await endUnderLoad(
      "ended by Postgres, statement or answer on the way",
      { rounds: terminations, callers: 32 },
      async (round) => {
        // From one round to the next a little later between one statement and the one after it.
        await delay((round * 4 * latencyMs) / terminations);
        const { rowCount } = await client.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'latchkey admission'",
        );
        expect(rowCount).toBe(1);
      },
    );
    expect(counted - answered).toBeGreaterThan(0);
    expect(counted - answered).toBeLessThan(lost);
  } finally {
    stage.proxy.slow(0);
    await client.end();
  }
});
