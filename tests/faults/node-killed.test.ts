import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey } from "../support/account.ts";
import { effort } from "../support/effort.ts";
import { readUses } from "../support/inspection.ts";
import { closeLedger, countAnswered, countStatuses } from "../support/ledger.ts";
import { startLoad } from "../support/load.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo } from "../support/postmaster.ts";
import { readyAgainWithinMs } from "../support/product.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// Two nodes on one database, one of which is killed.

let nodes: TwoNodes;

beforeAll(async () => {
  nodes = await startTwoNodes();
});

afterAll(async () => {
  await nodes?.close();
});

/** Starts the right node again where it was, as a service manager would. */
async function startAgain(): Promise<void> {
  nodes.right = await nodes.place.start({ PORT: new URL(nodes.right.baseUrl).port });
}

test("a node killed under load breaks the requests that it had and no others, and is back soon", async () => {
  const { id, key } = await createKey(nodes.left.baseUrl, nodes.account, "killed");
  const load = startLoad({ baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl], key, connections: 64 });
  await load.reached(1_000);
  await nodes.right.stop("SIGKILL");
  await load.reached(load.outcomes.length + 500);
  const outcomes = await load.stop();
  await startAgain();
  const { status: again } = await callOpen(nodes.right.baseUrl, key);
  closeLedger(
    "kill -9",
    {
      answered: countAnswered(outcomes) + (again === 200 ? 1 : 0),
      counted: await readUses(await connectionTo(nodes.place.cluster), id),
      received: load.sent() + 1,
    },
    `ready ${Math.round(nodes.right.readyWithinMs)} ms after its start`,
  );
  // Each of its 32 clients lost the request it was waiting for; the other node's lost nothing.
  expect(outcomes.filter(({ status }) => status === undefined)).toHaveLength(32);
  const others = outcomes.filter(({ baseUrl }) => baseUrl === nodes.left.baseUrl);
  expect(countStatuses(others)).toEqual({ 200: others.length });
  expect(again).toBe(200);
  expect(nodes.right.readyWithinMs).toBeLessThan(readyAgainWithinMs);
});

test("a node killed again and again under load loses no count, and its clients find it again", async () => {
  const rounds = 2 * effort;
  const { id, key } = await createKey(nodes.left.baseUrl, nodes.account, "killed often");
  const load = startLoad({
    baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl],
    key,
    connections: 16,
    reconnects: true,
  });
  const readyWithinMs: number[] = [];
  let served = 0;
  for (let round = 0; round < rounds; round += 1) {
    await load.reached(load.outcomes.length + 300);
    await nodes.right.stop("SIGKILL");
    await startAgain();
    readyWithinMs.push(nodes.right.readyWithinMs);
    const startedAt = performance.now();
    const isServed = (): boolean =>
      load.outcomes.some(
        ({ baseUrl, sentAt, status }) =>
          baseUrl === nodes.right.baseUrl && sentAt > startedAt && status === 200,
      );
    for (let more = 0; more < 20 && !isServed(); more += 1) await load.reached(load.outcomes.length + 50);
    if (isServed()) served += 1;
  }
  const outcomes = await load.stop();
  const broken = outcomes.filter(({ status }) => status !== 200);
  closeLedger(
    `kill -9, ${rounds} times`,
    {
      answered: countAnswered(outcomes),
      counted: await readUses(await connectionTo(nodes.place.cluster), id),
      // Who finds nobody listening has sent nothing.
      received: load.sent() - outcomes.filter(({ errorCode }) => errorCode === "ECONNREFUSED").length,
    },
    `${JSON.stringify(countStatuses(broken))} otherwise, ready within ${Math.round(Math.max(...readyWithinMs))} ms`,
  );
  expect(served).toBe(rounds);
  expect(Math.max(...readyWithinMs)).toBeLessThan(readyAgainWithinMs);
  const others = outcomes.filter(({ baseUrl }) => baseUrl === nodes.left.baseUrl);
  expect(countStatuses(others)).toEqual({ 200: others.length });
  // Beside what the killed node had in hand, callers found nobody listening or a node that was starting.
  expect(broken.filter(({ status }) => status !== undefined && status !== 503)).toEqual([]);
  const { length: cut } = broken.filter(({ isReused, status }) => isReused && status === undefined);
  expect(cut).toBeLessThanOrEqual(rounds * 8);
});
