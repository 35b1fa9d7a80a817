import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyspace, issueKey, type Keyspace, readCounter } from "../support/keyspace.ts";
import { type Outcome, startLoad } from "../support/load.ts";
import { measureStall } from "../support/machine-stall.ts";
import { statusOf } from "../support/open-call.ts";
import { connectionTo, eventually, killPostgres } from "../support/postmaster.ts";
import { countStatuses, expectWithinDeadline, verifyCounts } from "../support/request-counts.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// Two nodes verify a key with credits, and a node or Postgres is killed.

let nodes: TwoNodes;
let keyspace: Keyspace;
beforeAll(async () => {
  nodes = await startTwoNodes();
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

test("a node that is killed has granted no more than was spent, and credits of 1,000 are never exceeded", async () => {
  const issued = await issueKey(keyspace, { credits: { remaining: 1_000 } });
  const load = startVerifying(issued.key);
  await load.reached(300);
  await nodes.right.stop("SIGKILL");
  // Until the credits are used up.
  await load.reached(2_500);
  const outcomes = await load.stop();
  nodes.right = await nodes.instance.start({ PORT: new URL(nodes.right.baseUrl).port });
  const { uses, credits } = await readCounter(await connectionTo(nodes.instance.cluster), issued);
  const granted = countValid(outcomes);
  const lost = outcomes.filter(({ status }) => status === undefined).length;
  verifyCounts(
    "verifications, kill -9",
    { answered: granted, counted: uses, received: load.sent() },
    `${credits} credits remain`,
  );
  expect(credits).toBe(0);
  expect(uses).toBe(1_000 - credits);
  expect(granted).toBeLessThanOrEqual(1_000);
  // Each of its 16 clients lost the request in flight.
  expect(lost).toBe(16);
  expect(granted).toBeGreaterThanOrEqual(1_000 - lost);
  const others = outcomes.filter(({ baseUrl }) => baseUrl === nodes.left.baseUrl);
  expect(countStatuses(others)).toEqual({ 200: others.length });
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
