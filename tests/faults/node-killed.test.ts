import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey } from "../support/account.ts";
import { effort } from "../support/effort.ts";
import { readUses } from "../support/inspection.ts";
import { startLoad } from "../support/load.ts";
import { measureStall } from "../support/machine-stall.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo, eventually } from "../support/postmaster.ts";
import { countAnswered, countStatuses, expectAllAdmitted, verifyCounts } from "../support/request-counts.ts";
import { describeStart, expectReadySoon, type TimedStart, timeStart } from "../support/timed-start.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";
import { untilAnswered } from "../support/until-answered.ts";

// Two nodes on one database. One of them is killed.

let nodes: TwoNodes;

beforeAll(async () => {
  nodes = await startTwoNodes({}, { deadlines: "product" });
});

afterAll(async () => {
  await nodes?.close();
});

/** Restarts the second node on the same port, as a service manager would. */
async function startAgain(): Promise<TimedStart> {
  const { port } = new URL(nodes.right.baseUrl);
  const started = await timeStart(() => nodes.instance.start({ PORT: port }));
  nodes.right = started.node;
  return started;
}

test("a node killed under load fails only its requests in flight, and is ready again soon", async () => {
  const { id, key } = await createKey(nodes.left.baseUrl, nodes.account, "killed");
  const stopMeasuring = await measureStall(nodes.left.baseUrl);
  const load = startLoad({ baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl], key, connections: 64 });
  await load.reached(1_000);
  await nodes.right.stop("SIGKILL");
  await load.reached(load.outcomes.length + 500);
  const outcomes = await load.stop();
  const stallMs = await stopMeasuring();
  const started = await startAgain();
  let attempts = 0;
  const { status: again } = await untilAnswered(() => {
    attempts += 1;
    return callOpen(nodes.right.baseUrl, key);
  });
  verifyCounts(
    "kill -9",
    {
      answered: countAnswered(outcomes) + (again === 200 ? 1 : 0),
      counted: await readUses(await connectionTo(nodes.instance.cluster), id),
      received: load.sent() + attempts,
    },
    describeStart(started),
  );
  // Each of its 32 clients lost the request in flight; clients of the other node lost none.
  expect(outcomes.filter(({ status }) => status === undefined)).toHaveLength(32);
  const others = outcomes.filter(({ baseUrl }) => baseUrl === nodes.left.baseUrl);
  expectAllAdmitted(others, stallMs);
  expect(again).toBe(200);
  expectReadySoon(started);
});

test("a node killed repeatedly under load loses no count, and its clients reconnect", async () => {
  const rounds = 2 * effort;
  const { id, key } = await createKey(nodes.left.baseUrl, nodes.account, "killed often");
  const stopMeasuring = await measureStall(nodes.left.baseUrl);
  const load = startLoad({
    baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl],
    key,
    connections: 16,
    reconnects: true,
  });
  const starts: TimedStart[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await load.reached(load.outcomes.length + 300);
    await nodes.right.stop("SIGKILL");
    starts.push(await startAgain());
    const startedAt = performance.now();
    const isServed = (): boolean =>
      load.outcomes.some(
        ({ baseUrl, sentAt, status }) =>
          baseUrl === nodes.right.baseUrl && sentAt > startedAt && status === 200,
      );
    await eventually("the restarted node serves requests", async () => isServed());
  }
  const outcomes = await load.stop();
  const stallMs = await stopMeasuring();
  const broken = outcomes.filter(({ status }) => status !== 200);
  verifyCounts(
    `kill -9, ${rounds} times`,
    {
      answered: countAnswered(outcomes),
      counted: await readUses(await connectionTo(nodes.instance.cluster), id),
      // A client whose connection is refused has sent nothing.
      received: load.sent() - outcomes.filter(({ errorCode }) => errorCode === "ECONNREFUSED").length,
    },
    `${JSON.stringify(countStatuses(broken))} otherwise, ${starts.map(describeStart).join("; ")}`,
  );
  for (const start of starts) expectReadySoon(start);
  const others = outcomes.filter(({ baseUrl }) => baseUrl === nodes.left.baseUrl);
  expectAllAdmitted(others, stallMs);
  // Besides requests in flight, clients met refused connections or a starting node.
  expect(broken.filter(({ status }) => status !== undefined && status !== 503)).toEqual([]);
  const { length: cut } = broken.filter(({ isReused, status }) => isReused && status === undefined);
  expect(cut).toBeLessThanOrEqual(rounds * 8);
});
