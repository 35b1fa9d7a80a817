import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyspace, issueKey, type Keyspace, readCounter } from "../support/keyspace.ts";
import { type Outcome, startLoad } from "../support/load.ts";
import { measureStall } from "../support/machine-stall.ts";
import { statusOf } from "../support/open-call.ts";
import { connectionTo, eventually, killPostgres } from "../support/postmaster.ts";
import { countStatuses, expectWithinDeadline, verifyCounts } from "../support/request-counts.ts";
import { expectRunning, startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// Two nodes verify a key with credits, and a node or Postgres is killed.

let nodes: TwoNodes;
let keyspace: Keyspace;
beforeAll(async () => {
  nodes = await startTwoNodes({}, { deadlines: "product" });
  keyspace = await createKeyspace(nodes.left.baseUrl, nodes.account);
});
afterAll(async () => {
  await nodes?.close();
});

const countValid = (outcomes: readonly Outcome[]): number =>
  outcomes.filter(({ code }) => code === "VALID").length;

function startVerifying(key: string, { reconnects = false } = {}) {
  return startLoad({
    baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl],
    key: keyspace.callerKey,
    connections: 32,
    reconnects,
    path: "/open/keys/verify",
    body: { key },
  });
}

test("a node that is killed has granted no more than was spent, and 5,000 verifications, half of them in batches, never exceed credits of 1,000", async () => {
  const issued = await issueKey(keyspace, { credits: { remaining: 1_000 } });
  const target = {
    baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl],
    key: keyspace.callerKey,
  };
  const perBatch = 25;
  const [singleClients, batchClients] = [500, 20];
  // A thousand verifications are in flight at a time.
  const singles = startLoad({
    ...target,
    connections: singleClients,
    requests: 2_500,
    path: "/open/keys/verify",
    body: { key: issued.key },
  });
  const batches = startLoad({
    ...target,
    connections: batchClients,
    requests: 2_500 / perBatch,
    path: "/open/keys/verify-batch",
    body: { verifications: Array.from({ length: perBatch }, () => ({ key: issued.key })) },
  });
  await singles.reached(20);
  await nodes.right.stop("SIGKILL");
  await Promise.all([singles.ended, batches.ended]);
  const restarted = nodes.instance.start({ PORT: new URL(nodes.right.baseUrl).port });
  const { uses, credits } = await readCounter(await connectionTo(nodes.instance.cluster), issued);
  const outcomes = [...singles.outcomes, ...batches.outcomes];
  const granted = outcomes.reduce((sum, { validCount }) => sum + validCount, 0);
  const isLost = ({ status }: Outcome) => status === undefined;
  const lost = singles.outcomes.filter(isLost).length + perBatch * batches.outcomes.filter(isLost).length;
  const isLate = ({ status }: Outcome) => status === 503;
  const late = singles.outcomes.filter(isLate).length + perBatch * batches.outcomes.filter(isLate).length;
  verifyCounts(
    "verifications, kill -9",
    { answered: granted, counted: uses, received: singles.sent() + perBatch * batches.sent() },
    `${credits} credits remain, ${lost} verifications were lost, ${late} got 503`,
  );
  nodes.right = await restarted;
  expect(singles.sent() + perBatch * batches.sent()).toBe(5_000);
  expect(uses).toBe(1_000 - credits);
  expect(granted).toBeLessThanOrEqual(1_000);
  expect(uses).toBeLessThanOrEqual(granted + lost + late);
  // On a busy machine, verifications get 503 at their deadline.
  if (late === 0) expect(credits).toBe(0);
  // Only the verifications in flight on the killed node: one request of each of its clients.
  expect(lost).toBeGreaterThan(0);
  expect(lost).toBeLessThanOrEqual((singleClients + batchClients * perBatch) / 2);
  const others = outcomes.filter(({ baseUrl }) => baseUrl === nodes.left.baseUrl);
  expect(others.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
});

test("a Postgres that is killed loses no credits that were acknowledged as spent", async () => {
  const balance = 1_000_000;
  const issued = await issueKey(keyspace, { credits: { remaining: balance } });
  const stopMeasuring = await measureStall(nodes.left.baseUrl);
  const load = startVerifying(issued.key, { reconnects: true });
  for (let round = 0; round < 2; round += 1) {
    await load.reached(load.outcomes.length + 200);
    await killPostgres(nodes.instance.cluster);
    const { baseUrl } = nodes.left;
    const isReady = async (): Promise<boolean> => (await statusOf(baseUrl, "/readyz")) === 200;
    await eventually("Postgres is unavailable", async () => !(await isReady()));
    await eventually("it is ready again", isReady);
    const isServed = async () => {
      const from = load.outcomes.length;
      await load.reached(from + 64);
      return load.outcomes.slice(from).every(({ code }) => code === "VALID");
    };
    await eventually("keys are verified again", isServed);
  }
  const outcomes = await load.stop();
  expectRunning(nodes);
  const { uses, credits } = await readCounter(await connectionTo(nodes.instance.cluster), issued);
  verifyCounts("verifications, Postgres killed twice", {
    answered: countValid(outcomes),
    counted: uses,
    received: load.sent(),
  });
  expect(uses).toBe(balance - credits);
  expectWithinDeadline(outcomes, await stopMeasuring());
  expect(countStatuses(outcomes)["503"]).toBeGreaterThan(0);
});
