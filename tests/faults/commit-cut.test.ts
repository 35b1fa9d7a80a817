import { afterAll, beforeAll, expect, test } from "vitest";
import { type FaultStage, setFaultStage } from "../support/fault-stage.ts";
import { readUses } from "../support/inspection.ts";
import { closeLedger, countAnswered, expectPunctual } from "../support/ledger.ts";
import { startLoad } from "../support/load.ts";
import type { CutPoint } from "../support/tcp-proxy.ts";

// The connection is cut under the statement that counts, which is its own transaction. The node cannot know on which
// side of the commit, and must neither guess nor try again.

let stage: FaultStage;
beforeAll(async () => {
  stage = await setFaultStage();
});
afterAll(async () => {
  await stage?.close();
});

const rounds = 8;

/** Load through which the connection is cut again and again at the same point. */
async function cutUnderLoad(
  point: CutPoint,
): Promise<{ readonly answered: number; readonly counted: number; readonly lost: number }> {
  const { id, key } = await stage.knownKey(`cut ${point}`);
  const load = startLoad({ baseUrls: [stage.node.baseUrl], key, connections: 32 });
  for (let round = 0; round < rounds; round += 1) {
    await load.reached(load.outcomes.length + 100);
    // Of two statements in a row one tends to be somebody's alone, and the other everybody else's.
    await stage.proxy.cutStatement("latchkey admission", { point, passing: round % 3 });
  }
  await load.reached(load.outcomes.length + 200);
  const outcomes = await load.stop();
  expectPunctual(outcomes);
  const answered = countAnswered(outcomes) + 1;
  const lost = outcomes.length + 1 - answered;
  const counted = await readUses(stage.database, id);
  closeLedger(
    `the connection cut ${rounds} times ${point} the commit`,
    { answered, counted, received: load.sent() + 1 },
    `503 to ${lost}`,
  );
  // Each cut meets a statement, and each statement somebody who waits for it.
  expect(lost).toBeGreaterThanOrEqual(rounds);
  return { answered, counted, lost };
}

test("uses whose commit was done when the connection broke are counted once, and their callers get 503", async () => {
  const { answered, counted, lost } = await cutUnderLoad("after");
  expect(counted).toBe(answered + lost);
});

test("uses that Postgres never heard of are not counted, and not tried again", async () => {
  const { answered, counted } = await cutUnderLoad("before");
  expect(counted).toBe(answered);
});

test("uses of which nobody knows whether they were committed are counted once or not at all", async () => {
  const { answered, counted, lost } = await cutUnderLoad("during");
  expect(counted).toBeGreaterThanOrEqual(answered);
  expect(counted).toBeLessThanOrEqual(answered + lost);
});
