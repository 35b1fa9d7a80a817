import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, createKey, signUp } from "../support/account.ts";
import { readUses } from "../support/inspection.ts";
import { closeLedger, countAnswered, countStatuses } from "../support/ledger.ts";
import { startLoad } from "../support/load.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { createPlace, type Place } from "../support/place.ts";
import { connectionTo } from "../support/postmaster.ts";
import type { ProductNode } from "../support/product.ts";

// Two nodes on one database, one of which is told to stop.

let place: Place;
let left: ProductNode;
let right: ProductNode;
let account: Account;

beforeAll(async () => {
  place = await createPlace();
  [left, right] = await Promise.all([place.start(), place.start()]);
  account = await signUp(left.baseUrl);
});

afterAll(async () => {
  await place?.close();
});

test("a node told to stop under load answers and counts every request that it took", async () => {
  const { id, key } = await createKey(left.baseUrl, account, "drained");
  const load = startLoad({ baseUrls: [right.baseUrl], key, connections: 64 });
  await load.reached(1_000);
  const signalledAt = performance.now();
  expect(await right.stop("SIGTERM")).toBe(0);
  const tookMs = performance.now() - signalledAt;
  await load.ended;
  const { "200": answered = 0, ...others } = countStatuses(load.outcomes);
  const counted = await readUses(await connectionTo(place.cluster), id);
  closeLedger(
    "SIGTERM",
    { answered, counted, received: load.sent() },
    `${JSON.stringify(others)} otherwise, gone within ${Math.round(tookMs)} ms`,
  );
  expect(counted).toBe(countAnswered(load.outcomes));
  // Who comes too late finds nobody listening. What is sent over a connection that the node has is answered.
  const late = load.outcomes.filter(({ status }) => status !== 200);
  expect(late.filter(({ isReused, status }) => isReused || status !== undefined)).toEqual([]);
  expect(late.filter(({ sentAt }) => sentAt < signalledAt)).toEqual([]);
  expect(tookMs).toBeLessThan(5_000);
  right = await place.start();
});

test("connections on which nobody asks anything, used before or not, do not hold up the end of a node", async () => {
  const { key } = await createKey(left.baseUrl, account, "idle");
  // Browsers open connections ahead of need; fetch keeps those it has used.
  const unused = connect(Number(new URL(right.baseUrl).port), "127.0.0.1");
  await once(unused, "connect");
  expect((await callOpen(right.baseUrl, key)).status).toBe(200);
  const unusedEnds = once(unused, "close");
  const signalledAt = performance.now();
  expect(await right.stop("SIGTERM")).toBe(0);
  const tookMs = performance.now() - signalledAt;
  await unusedEnds;
  console.info(`SIGTERM with idle connections: gone within ${Math.round(tookMs)} ms`);
  expect(tookMs).toBeLessThan(3_000);
  expect(await statusOf(left.baseUrl, "/readyz")).toBe(200);
});
