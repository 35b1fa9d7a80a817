import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, callProcedure, createKey, signUp } from "../support/account.ts";
import { readUses } from "../support/inspection.ts";
import { closeLedger, countAnswered, countStatuses, expectPunctual, slowestMs } from "../support/ledger.ts";
import { type Outcome, startLoad } from "../support/load.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import type { Place } from "../support/place.ts";
import { connectionTo, eventually, getPostmaster, killPostgres } from "../support/postmaster.ts";
import { createPreparedPlace } from "../support/prepared-place.ts";
import type { ProductNode } from "../support/product.ts";

let place: Place;
let node: ProductNode;
let account: Account;

beforeAll(async () => {
  place = await createPreparedPlace();
  node = await place.start();
  account = await signUp(node.baseUrl);
});

afterAll(async () => {
  await place?.close();
});

/** Somebody at the web app, who goes on doing the same thing; the statuses that it had. */
function visit(action: () => Promise<number>): {
  readonly statuses: number[];
  readonly leave: () => Promise<void>;
} {
  const statuses: number[] = [];
  let isOver = false;
  const visits = (async () => {
    while (!isOver) statuses.push(await action());
  })();
  visits.catch(() => undefined);
  return {
    statuses,
    async leave() {
      isOver = true;
      await visits;
    },
  };
}

test("a node outlives its Postgres, killed again and again under load, and nothing acknowledged is lost", async () => {
  const { id, key } = await createKey(node.baseUrl, account, "first");
  const acknowledged: string[] = [];
  const readers = Array.from({ length: 16 }, () =>
    visit(async () => {
      const call = { path: "apiKeys.list", kind: "query", input: {}, cookie: account.cookie } as const;
      return (await callProcedure(node.baseUrl, call)).status;
    }),
  );
  const writer = visit(async () => {
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
  const load = startLoad({ baseUrls: [node.baseUrl], key, connections: 16 });
  const backMs: number[] = [];
  const afterwards: Outcome[] = [];
  try {
    for (let round = 0; round < 4; round += 1) {
      const [before, written] = [countVisits(), acknowledged.length];
      await eventually("calls are made", async () => countVisits() > before + 30, 10_000);
      await eventually("keys are created", async () => acknowledged.length > written, 10_000);
      // Without their parent the others end when they notice; killed with it they have no time to.
      if (round % 2 === 0) await killPostgres(place.cluster);
      else process.kill(await getPostmaster(place.cluster), "SIGKILL");
      const isReady = async (): Promise<boolean> => (await statusOf(node.baseUrl, "/readyz")) === 200;
      await eventually("Postgres is away", async () => !(await isReady()), 10_000);
      backMs.push(await eventually("it is ready again", isReady, 10_000));
      const served = load.outcomes.length;
      await load.reached(served + 100);
      afterwards.push(...load.outcomes.slice(served + 32));
    }
  } finally {
    await Promise.all([load.stop(), ...visits.map(({ leave }) => leave())]);
  }
  const answers = await Promise.all(acknowledged.map((created) => callOpen(node.baseUrl, created)));
  const missing = answers.filter(({ status }) => status !== 200);
  closeLedger(
    "Postgres killed four times",
    {
      answered: countAnswered(load.outcomes),
      counted: await readUses(await connectionTo(place.cluster), id),
      received: load.sent(),
    },
    `slowest answer ${Math.round(slowestMs(load.outcomes))} ms, ` +
      `back within ${Math.round(Math.max(...backMs))} ms, ${acknowledged.length} keys created, ${missing.length} missing`,
  );
  const statuses = new Set(visits.flatMap((visitor) => visitor.statuses));
  expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expectPunctual(load.outcomes);
  expect(countStatuses(load.outcomes)["503"]).toBeGreaterThan(0);
  expect(countStatuses(afterwards)).not.toHaveProperty("503");
  // Each key that somebody was shown is there, and good.
  expect(missing).toEqual([]);
  expect(node.process.exitCode).toBeNull();
});
