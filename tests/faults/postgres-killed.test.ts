import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, callProcedure, createKey, signUp } from "../support/account.ts";
import { readUses } from "../support/inspection.ts";
import { type Outcome, startLoad } from "../support/load.ts";
import { busyMs, measureStall } from "../support/machine-stall.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { connectionTo, eventually, getPostmaster, killPostgres } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { ProductNode } from "../support/product.ts";
import {
  countAnswered,
  countStatuses,
  expectWithinDeadline,
  slowestMs,
  verifyCounts,
} from "../support/request-counts.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { untilAnswered } from "../support/until-answered.ts";

let instance: TestInstance;
let node: ProductNode;
let account: Account;

beforeAll(async () => {
  instance = await createPreparedInstance({}, { deadlines: "product" });
  node = await instance.start();
  account = await signUp(node.baseUrl);
});

afterAll(async () => {
  await instance?.close();
});

/** Repeats a call of the web app and records the statuses. */
function startVisit(action: () => Promise<number>): {
  readonly statuses: number[];
  readonly stop: () => Promise<void>;
} {
  const statuses: number[] = [];
  let isStopped = false;
  const visits = (async () => {
    while (!isStopped) statuses.push(await action());
  })();
  visits.catch(() => undefined);
  return {
    statuses,
    async stop() {
      isStopped = true;
      await visits;
    },
  };
}

test("survives repeated kills of Postgres under load, and loses nothing that was acknowledged", async () => {
  const { id, key } = await createKey(node.baseUrl, account, "first");
  const acknowledged: string[] = [];
  const readers = Array.from({ length: 16 }, () =>
    startVisit(async () => {
      const call = { path: "apiKeys.list", kind: "query", input: {}, cookie: account.cookie } as const;
      return (await callProcedure(node.baseUrl, call)).status;
    }),
  );
  const writer = startVisit(async () => {
    const input = { name: `key ${acknowledged.length}` };
    const call = { path: "apiKeys.create", kind: "mutation", input, cookie: account.cookie } as const;
    const { status, data } = await callProcedure(node.baseUrl, call);
    if (status === 200)
      acknowledged.push((data as { key: string }).key); // The router's type for this procedure.
    else await delay(50);
    return status;
  });
  const visits = [...readers, writer];
  const countVisits = (): number => visits.reduce((sum, { statuses }) => sum + statuses.length, 0);
  const stopMeasuring = await measureStall(node.baseUrl);
  const load = startLoad({ baseUrls: [node.baseUrl], key, connections: 16 });
  const backMs: number[] = [];
  const afterwards: Outcome[] = [];
  try {
    for (let round = 0; round < 4; round += 1) {
      const [before, written] = [countVisits(), acknowledged.length];
      await eventually("calls are made", async () => countVisits() > before + 30);
      await eventually("keys are created", async () => acknowledged.length > written);
      // Alternates between killing all processes of Postgres and killing only the postmaster.
      if (round % 2 === 0) await killPostgres(instance.cluster);
      else process.kill(await getPostmaster(instance.cluster), "SIGKILL");
      const isReady = async (): Promise<boolean> => (await statusOf(node.baseUrl, "/readyz")) === 200;
      await eventually("Postgres is unavailable", async () => !(await isReady()));
      backMs.push(await eventually("it is ready again", isReady));
      const served = load.outcomes.length;
      await load.reached(served + 100);
      afterwards.push(...load.outcomes.slice(served + 32));
    }
  } finally {
    await Promise.all([load.stop(), ...visits.map(({ stop }) => stop())]);
  }
  const stallMs = await stopMeasuring();
  const answers = await Promise.all(
    acknowledged.map((created) => untilAnswered(() => callOpen(node.baseUrl, created))),
  );
  const missing = answers.filter(({ status }) => status !== 200);
  verifyCounts(
    "Postgres killed four times",
    {
      answered: countAnswered(load.outcomes),
      counted: await readUses(await connectionTo(instance.cluster), id),
      received: load.sent(),
    },
    `slowest answer ${Math.round(slowestMs(load.outcomes))} ms, ` +
      `back within ${Math.round(Math.max(...backMs))} ms, ${acknowledged.length} keys created, ${missing.length} missing`,
  );
  const statuses = new Set(visits.flatMap((visitor) => visitor.statuses));
  expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expectWithinDeadline(load.outcomes, stallMs);
  expect(countStatuses(load.outcomes)["503"]).toBeGreaterThan(0);
  if (stallMs < busyMs) expect(countStatuses(afterwards)).not.toHaveProperty("503");
  // Each key that was shown exists and is valid.
  expect(missing).toEqual([]);
  expect(node.process.exitCode).toBeNull();
});
