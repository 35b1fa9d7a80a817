import { once } from "node:events";
import { connect } from "node:net";
import type pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createKey } from "../support/account.ts";
import { countNodeConnections, open, readUses, toUuid } from "../support/inspection.ts";
import { createKeyspace, issueKey, readCounter } from "../support/keyspace.ts";
import { type Outcome, startLoad } from "../support/load.ts";
import { busyMs, measureStall } from "../support/machine-stall.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { connectionTo, eventually } from "../support/postmaster.ts";
import { countStatuses, verifyCounts } from "../support/request-counts.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";
import { untilAnswered } from "../support/until-answered.ts";

// Two nodes on one database. One of them is stopped.

let nodes: TwoNodes;

beforeAll(async () => {
  nodes = await startTwoNodes({}, { deadlines: "product" });
});

afterAll(async () => {
  await nodes?.close();
});

/** A stopping node closes its open connections when no request has arrived for this long, in milliseconds. */
const quietPeriodMs = 250;

/**
 * Expects that the node answered each request that it accepted, and refused late connections.
 * @param others the requests that were not admitted. On a busy machine, some get 503 at their deadline.
 */
function expectRefused(others: readonly Outcome[], signalledAt: number, stallMs: number): void {
  const refused = others.filter(({ status }) => stallMs < busyMs || status !== 503);
  expect(refused.filter(({ status }) => status !== undefined)).toEqual([]);
  expect(refused.filter(({ sentAt }) => sentAt < signalledAt)).toEqual([]);
  // A busy machine delays the response before a request, and the request, so that the node may have closed their connection.
  if (2 * stallMs < quietPeriodMs) expect(refused.filter(({ isReused }) => isReused)).toEqual([]);
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
    `${JSON.stringify(others)} otherwise, gone within ${Math.round(tookMs)} ms, stalls of ${Math.round(stallMs)} ms`,
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

/** Makes every statement that counts uses wait, in flight and without a lock timeout, until the returned function is called. */
async function holdStatements(client: pg.Client): Promise<() => Promise<unknown>> {
  await client.query(`
    select pg_advisory_lock(1);
    create function wait_for_test() returns trigger language plpgsql as $$ begin
      while not pg_try_advisory_xact_lock_shared(1) loop perform pg_sleep(0.01); end loop;
      return null;
    end $$;
    create trigger wait_for_test before update on key_counters for each statement execute function wait_for_test()`);
  onTestFinished(async () => {
    await client.query("select pg_advisory_unlock_all(); drop function wait_for_test cascade");
  });
  return () => client.query("select pg_advisory_unlock(1)");
}

test("a use whose client disconnected is counted while the node stops, also in the history of its key", async () => {
  const database = await connectionTo(nodes.instance.cluster);
  const client = await open(database);
  onTestFinished(() => client.end());
  // In this process, because a statement may then take longer than the stop waits for everything else.
  const node = await nodes.instance.startInProcess();
  const { id, key } = await createKey(node.baseUrl, nodes.account, "disconnected");
  expect((await callOpen(node.baseUrl, key)).status).toBe(200);
  // Opens the verifier's connection.
  expect(await statusOf(node.baseUrl, "/readyz")).toBe(200);
  const countVerifiers = async () => (await countNodeConnections(database))["latchkey verification"] ?? 0;
  const verifiers = await countVerifiers();

  const release = await holdStatements(client);
  const disconnecting = new AbortController();
  const headers = { Authorization: `Bearer ${key}` };
  const response = fetch(`${node.baseUrl}/open/global/config`, { headers, signal: disconnecting.signal });
  await eventually("the use is in flight", async () => {
    const { rowCount } = await client.query(
      "select from pg_stat_activity where application_name = 'latchkey admission' and wait_event = 'PgSleep'",
    );
    return rowCount === 1;
  });
  disconnecting.abort();
  await expect(response).rejects.toThrow("aborted");
  const stopped = node.stop();
  // Then only admission and what is closed after it are open.
  await eventually("the verifier is closed", async () => (await countVerifiers()) < verifiers);
  await release();
  await stopped;
  const uses = await readUses(database, id);
  const { rows } = await client.query(
    "select sum(count)::int as uses from key_usage_hours where key_id = $1 and outcome = 'admitted'",
    [toUuid(id)],
  );
  expect({ uses, history: rows[0].uses }).toEqual({ uses: 2, history: 2 });
});

test("idle connections, used or not, don't delay the stop of a node", async () => {
  const { key } = await createKey(nodes.left.baseUrl, nodes.account, "idle");
  // Browsers open connections ahead of need; fetch keeps those it has used.
  const unused = connect(Number(new URL(nodes.right.baseUrl).port), "127.0.0.1");
  await once(unused, "connect");
  expect((await untilAnswered(() => callOpen(nodes.right.baseUrl, key))).status).toBe(200);
  const unusedEnds = once(unused, "close");
  const stopMeasuring = await measureStall(nodes.left.baseUrl);
  const signalledAt = performance.now();
  expect(await nodes.right.stop("SIGTERM")).toBe(0);
  const tookMs = performance.now() - signalledAt;
  const stallMs = await stopMeasuring();
  await unusedEnds;
  console.info(`SIGTERM with idle connections: gone within ${Math.round(tookMs)} ms`);
  expect(tookMs).toBeLessThan(3_000 + 2 * stallMs);
  const isReady = async () => (await statusOf(nodes.left.baseUrl, "/readyz")) === 200;
  await eventually("the other node is ready", isReady);
});
