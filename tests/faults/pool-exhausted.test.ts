import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure, createKey, signUp } from "../support/account.ts";
import { type FaultStage, setFaultStage } from "../support/fault-stage.ts";
import { countNodeConnections, holdLocks, open, readUses } from "../support/inspection.ts";
import {
  closeLedger,
  countAnswered,
  countStatuses,
  expectAllRefused,
  expectPunctual,
  promisedMs,
  quantileMs,
} from "../support/ledger.ts";
import { startLoad } from "../support/load.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { eventually } from "../support/postmaster.ts";

// A node all of whose connections to Postgres wait, or that can have none.

let stage: FaultStage;
beforeAll(async () => {
  stage = await setFaultStage();
});
afterAll(async () => {
  await stage?.close();
});

/** `/healthz` again and again, until it is told to stop; the longest that one took, in milliseconds. */
function watchHealth(): { readonly end: () => Promise<number> } {
  let isOver = false;
  const watched = (async () => {
    let slowest = 0;
    while (!isOver) {
      const askedAt = performance.now();
      expect(await statusOf(stage.node.baseUrl, "/healthz")).toBe(200);
      slowest = Math.max(slowest, performance.now() - askedAt);
    }
    return slowest;
  })();
  watched.catch(() => undefined);
  return {
    async end() {
      isOver = true;
      return await watched;
    },
  };
}

test("with every connection of the pools waiting, admission goes on, the open API gives 503 in time, and the web app soon after", async () => {
  const { node, account, database } = stage;
  const { id, key } = await stage.knownKey("pools");
  // A user reads two lists at a time: three users take the five connections of that pool.
  const others = [
    await signUp(node.baseUrl, "bob@example.com"),
    await signUp(node.baseUrl, "cat@example.com"),
  ];
  const keys = [
    { id, key },
    ...(await Promise.all(others.map((other) => createKey(node.baseUrl, other, "another's")))),
  ];
  // A key that the node has not met could not be looked up.
  for (const known of keys.slice(1)) expect((await callOpen(node.baseUrl, known.key)).status).toBe(200);
  const load = startLoad({ baseUrls: [node.baseUrl], key, connections: 8 });
  await load.reached(200);
  // Nothing that admission reads: what it does is not to wait for what people do.
  const { letGo } = await holdLocks(
    database,
    "lock table workspaces, members, sessions in access exclusive mode",
  );
  const heldFrom = load.outcomes.length;
  const health = watchHealth();
  const current = { path: "session.current", kind: "query", cookie: account.cookie } as const;
  // Thirty for the five connections of each pool: a sixth of them holds one, and the others wait for one.
  const [calls, visits] = await Promise.all([
    Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        callOpen(
          node.baseUrl,
          keys[index % keys.length]?.key ?? key,
          index % 2 === 0 ? "/open/workspaces" : "/open/me",
        ),
      ),
    ),
    Promise.all(
      Array.from({ length: 30 }, async () => {
        const askedAt = performance.now();
        const { status } = await callProcedure(node.baseUrl, current);
        return { status, tookMs: performance.now() - askedAt };
      }),
    ),
  ]);
  const pools = await countNodeConnections(database);
  const during = load.outcomes.slice(heldFrom);
  const slowestHealthMs = await health.end();
  await letGo();
  const polls: number[] = [];
  const isBack = async (): Promise<boolean> => {
    polls.push((await callOpen(node.baseUrl, key, "/open/workspaces")).status);
    return polls.at(-1) === 200 && (await callProcedure(node.baseUrl, current)).status === 200;
  };
  const backMs = await eventually("the pools are of use again", isBack, 5_000);
  const outcomes = await load.stop();
  const uses = await Promise.all(keys.map((used) => readUses(database, used.id)));
  const counted = uses.reduce((sum, count) => sum + count, 0);
  const received = load.sent() + keys.length + calls.length + polls.length;
  const answered = countAnswered(outcomes) + keys.length + polls.filter((status) => status === 200).length;
  closeLedger(
    "the pools exhausted",
    { answered, counted, received },
    `503 to ${calls.length} within ${Math.round(Math.max(...calls.map(({ tookMs }) => tookMs)))} ms, ` +
      `${during.length} admitted meanwhile, 99 of 100 within ${Math.round(quantileMs(during, 0.99))} ms, ` +
      `the web app's 503 within ${Math.round(Math.max(...visits.map(({ tookMs }) => tookMs)))} ms, ` +
      `health within ${Math.round(slowestHealthMs)} ms, back within ${Math.round(backMs)} ms`,
  );
  expectPunctual(outcomes);
  // Who gets 503 for want of a connection was admitted all the same, and used the key.
  expect(counted).toBe(received);
  expect(calls.filter(({ status, retryAfter }) => status !== 503 || retryAfter !== "1")).toEqual([]);
  // A busy machine delays every answer, also that of a request that waits for nothing.
  expect(calls.filter(({ tookMs }) => tookMs > promisedMs + slowestHealthMs)).toEqual([]);
  expect(countStatuses(visits.map(({ status }) => ({ status, errorCode: undefined })))).toEqual({ 503: 30 });
  // People are promised no time: those that have a connection wait for the statement's own limit, 5 s, the others for
  // that of the pool.
  const quick = visits.filter(({ tookMs }) => tookMs < promisedMs + slowestHealthMs);
  expect(quick.length).toBeGreaterThanOrEqual(20);
  expect(visits.filter(({ tookMs }) => tookMs > 6_000 + slowestHealthMs)).toEqual([]);
  // The open API reads lists in its pool for reads; the web app looks up the session in its pool for changes.
  expect(pools["latchkey open reads"]).toBe(5);
  expect(pools.latchkey).toBe(5);
  // A health check that waited for a pool would take as long as the pools' own limits.
  expect(slowestHealthMs).toBeLessThan(promisedMs);
  expect(countStatuses(during)).toEqual({ 200: during.length });
});

/** Takes every connection that the server has to give; at most 300 are tried. */
async function takeAllConnections(): Promise<readonly pg.Client[]> {
  const taken: pg.Client[] = [];
  while (taken.length < 300) {
    const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => open(stage.database)));
    for (const attempt of attempts) if (attempt.status === "fulfilled") taken.push(attempt.value);
    const refused = attempts.find((attempt) => attempt.status === "rejected");
    if (!refused) continue;
    expect(refused.reason).toMatchObject({ code: "53300" });
    return taken;
  }
  throw new Error("The server gives connections without end.");
}

test("a node that Postgres has no connection left for answers 503 in time, and recovers by itself", async () => {
  const { node, proxy, database, recovered } = stage;
  const { id, key } = await stage.knownKey("no connection left");
  const load = startLoad({ baseUrls: [node.baseUrl], key, connections: 8 });
  await load.reached(200);
  proxy.cut();
  const taken = await takeAllConnections();
  proxy.mend();
  const exhaustedAt = performance.now();
  await load.reached(load.outcomes.length + 50);
  const away = await callOpen(node.baseUrl, key);
  const health = await statusOf(node.baseUrl, "/healthz");
  const during = load.outcomes.filter(({ sentAt }) => sentAt > exhaustedAt);
  await Promise.all(taken.map((client) => client.end()));
  const backMs = await recovered();
  await load.reached(load.outcomes.length + 100);
  const outcomes = await load.stop();
  closeLedger(
    "Postgres without a connection left",
    {
      answered: countAnswered(outcomes) + 1,
      counted: await readUses(database, id),
      received: load.sent() + 2,
    },
    `${taken.length} connections taken, back within ${Math.round(backMs)} ms`,
  );
  expect(away).toMatchObject({ status: 503, code: "SERVICE_UNAVAILABLE", retryAfter: "1" });
  expect(health).toBe(200);
  expectAllRefused(during);
  expectPunctual(outcomes);
  expect(countStatuses(outcomes.slice(-50))).toEqual({ 200: 50 });
});
