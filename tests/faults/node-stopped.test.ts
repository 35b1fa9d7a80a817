import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey } from "../support/account.ts";
import { readUses } from "../support/inspection.ts";
import { createKeyspace, issueKey, readCounter } from "../support/keyspace.ts";
import { type Outcome, startLoad } from "../support/load.ts";
import { busyMs, measureStall } from "../support/machine-stall.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { connectionTo } from "../support/postmaster.ts";
import { countStatuses, verifyCounts } from "../support/request-counts.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// Two nodes on one database. One of them is stopped.

let nodes: TwoNodes;

beforeAll(async () => {
  nodes = await startTwoNodes();
});

afterAll(async () => {
  await nodes?.close();
});

/**
 * Expects that the node answered each request that it accepted, and refused late connections.
 * @param others the requests that were not admitted. On a busy machine, some get 503 at their deadline.
 */
function expectRefused(others: readonly Outcome[], signalledAt: number, stallMs: number): void {
  const refused = others.filter(({ status }) => stallMs < busyMs || status !== 503);
  expect(refused.filter(({ isReused, status }) => isReused || status !== undefined)).toEqual([]);
  expect(refused.filter(({ sentAt }) => sentAt < signalledAt)).toEqual([]);
}

test("a node stopped under load answers and counts every request that it accepted", async () => {
  const { id, key } = await createKey(nodes.left.baseUrl, nodes.account, "drained");
  const stopMeasuring = await measureStall(nodes.left.baseUrl);
  const load = startLoad({ baseUrls: [nodes.right.baseUrl], key, connections: 64 });
  await load.reached(1_000);
  const signalledAt = performance.now();
  const exitStatus = await nodes.right.stop("SIGTERM");
  const tookMs = performance.now() - signalledAt;
  const stallMs = await stopMeasuring();
  await load.ended;
  const { "200": answered = 0, ...others } = countStatuses(load.outcomes);
  const counted = await readUses(await connectionTo(nodes.instance.cluster), id);
  verifyCounts(
    "SIGTERM",
    { answered, counted, received: load.sent() },
    `${JSON.stringify(others)} otherwise, gone within ${Math.round(tookMs)} ms`,
  );
  expect(exitStatus).toBe(0);
  // A request that got 503 at its deadline may have been counted. Without one, the count is exact.
  expect(counted).toBeGreaterThanOrEqual(answered);
  expect(counted).toBeLessThanOrEqual(answered + (others["503"] ?? 0));
  expectRefused(
    load.outcomes.filter(({ status }) => status !== 200),
    signalledAt,
    stallMs,
  );
  expect(tookMs).toBeLessThan(5_000 + 2 * stallMs);
  nodes.right = await nodes.instance.start();
});

test("a node stopped under load answers and counts every verification that it accepted, and spends each credit once", async () => {
  const keyspace = await createKeyspace(nodes.left.baseUrl, nodes.account);
  const balance = 1_000_000;
  const issued = await issueKey(keyspace, { credits: { remaining: balance } });
  const stopMeasuring = await measureStall(nodes.left.baseUrl);
  const load = startLoad({
    baseUrls: [nodes.right.baseUrl],
    key: keyspace.callerKey,
    connections: 64,
    path: "/open/keys/verify",
    body: { key: issued.key },
  });
  await load.reached(1_000);
  const signalledAt = performance.now();
  expect(await nodes.right.stop("SIGTERM")).toBe(0);
  const stallMs = await stopMeasuring();
  await load.ended;
  const { uses, credits } = await readCounter(await connectionTo(nodes.instance.cluster), issued);
  const valid = load.outcomes.filter(({ code }) => code === "VALID").length;
  verifyCounts("SIGTERM, verifications", { answered: valid, counted: uses, received: load.sent() });
  const others = load.outcomes.filter(({ code }) => code !== "VALID");
  // As above, a verification that got 503 may have spent a credit.
  expect(uses).toBeGreaterThanOrEqual(valid);
  expect(uses).toBeLessThanOrEqual(valid + (countStatuses(others)["503"] ?? 0));
  expect(credits).toBe(balance - uses);
  expectRefused(others, signalledAt, stallMs);
  nodes.right = await nodes.instance.start();
});

test("idle connections, used or not, don't delay the stop of a node", async () => {
  const { key } = await createKey(nodes.left.baseUrl, nodes.account, "idle");
  // Browsers open connections ahead of need; fetch keeps those it has used.
  const unused = connect(Number(new URL(nodes.right.baseUrl).port), "127.0.0.1");
  await once(unused, "connect");
  expect((await callOpen(nodes.right.baseUrl, key)).status).toBe(200);
  const unusedEnds = once(unused, "close");
  const stopMeasuring = await measureStall(nodes.left.baseUrl);
  const signalledAt = performance.now();
  expect(await nodes.right.stop("SIGTERM")).toBe(0);
  const tookMs = performance.now() - signalledAt;
  const stallMs = await stopMeasuring();
  await unusedEnds;
  console.info(`SIGTERM with idle connections: gone within ${Math.round(tookMs)} ms`);
  expect(tookMs).toBeLessThan(3_000 + 2 * stallMs);
  expect(await statusOf(nodes.left.baseUrl, "/readyz")).toBe(200);
});
