import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FaultStage, setFaultStage } from "../support/fault-stage.ts";
import { open, readUses } from "../support/inspection.ts";
import { closeLedger, countAnswered, expectPunctual } from "../support/ledger.ts";
import { startLoad } from "../support/load.ts";
import type { CutPoint } from "../support/tcp-proxy.ts";

// The connection ends under the statement that counts, which is its own transaction. The node cannot know on which
// side of the commit, and must neither guess nor try again.

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
  rounds: number,
  endConnection: (round: number) => Promise<unknown>,
): Promise<Uses> {
  const { id, key } = await stage.knownKey(fault);
  const load = startLoad({ baseUrls: [stage.node.baseUrl], key, connections: 32 });
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

async function cutUnderLoad(point: CutPoint): Promise<Uses> {
  const rounds = 8;
  const uses = await endUnderLoad(`cut ${point} the commit`, rounds, (round) =>
    // Of two statements in a row one tends to be somebody's alone, and the other everybody else's.
    stage.proxy.cutStatement("latchkey admission", { point, passing: round % 3 }),
  );
  // Each cut meets a statement, and each statement somebody who waits for it.
  expect(uses.lost).toBeGreaterThanOrEqual(rounds);
  return uses;
}

test("uses whose commit was done when the connection broke are counted once, and their callers get 503", async () => {
  const { answered, counted, lost } = await cutUnderLoad("after");
  expect(counted).toBe(answered + lost);
});

test("uses that Postgres never heard of are not counted, and not tried again", async () => {
  const { answered, counted } = await cutUnderLoad("before");
  expect(counted).toBe(answered);
});

test("uses that Postgres had just heard of are counted once all the same, and their callers get 503", async () => {
  const { answered, counted, lost } = await cutUnderLoad("during");
  expect(counted).toBe(answered + lost);
});

test("uses of which nobody knows whether they were committed are counted once or not at all, and both happens", async () => {
  const rounds = 24;
  const latencyMs = 5;
  const client = await open(stage.database);
  stage.proxy.slow(latencyMs);
  try {
    const { answered, counted, lost } = await endUnderLoad(
      "ended by Postgres, statement or answer on the way",
      rounds,
      async (round) => {
        // From one round to the next a little later between one statement and the one after it.
        await delay((round * 4 * latencyMs) / rounds);
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
