import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, type CreatedKey, callProcedure, createKey, signUp } from "../support/account.ts";
import { countStatuses, startLoad } from "../support/load.ts";
import { statusOf } from "../support/open-call.ts";
import { createPlace, type Place } from "../support/place.ts";
import { eventually, getPostmaster } from "../support/postmaster.ts";
import type { ProductNode } from "../support/product.ts";

let place: Place;
let node: ProductNode;
let account: Account;
let created: CreatedKey;

beforeAll(async () => {
  place = await createPlace();
  node = await place.start();
  account = await signUp(node.baseUrl);
  created = await createKey(node.baseUrl, account, "first");
});

afterAll(async () => {
  await place?.close();
});

test("a node outlives its Postgres, killed again and again while every connection is in use", async () => {
  const statuses = new Set<number>();
  let calls = 0;
  let isOver = false;
  /** Somebody at the web app, who goes on reloading. */
  const visit = async (): Promise<void> => {
    while (!isOver) {
      const call = { path: "apiKeys.list", kind: "query", input: {}, cookie: account.cookie } as const;
      statuses.add((await callProcedure(node.baseUrl, call)).status);
      calls += 1;
    }
  };
  const load = startLoad({ baseUrls: [node.baseUrl], key: created.key, connections: 16 });
  const visits = Promise.all(Array.from({ length: 16 }, visit));
  visits.catch(() => undefined);
  try {
    for (let round = 0; round < 5; round += 1) {
      const before = calls;
      await eventually("calls are made", async () => calls > before + 30, 10_000);
      process.kill(await getPostmaster(place.cluster), "SIGKILL");
      const isReady = async (): Promise<boolean> => (await statusOf(node.baseUrl, "/readyz")) === 200;
      await eventually("Postgres is away", async () => !(await isReady()), 10_000);
      await eventually("it is ready again", isReady, 20_000);
    }
  } finally {
    isOver = true;
    await load.stop();
  }
  await visits;
  expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(Object.keys(countStatuses(load.outcomes)).sort()).toEqual(["200", "503"]);
  const slowestMs = Math.max(...load.outcomes.map(({ sentAt, endedAt }) => endedAt - sentAt));
  console.info(`Postgres killed five times under load: slowest answer ${Math.round(slowestMs)} ms`);
  expect(slowestMs).toBeLessThan(2_000);
  expect(node.process.exitCode).toBeNull();
});
