import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, createKey, signUp } from "../support/account.ts";
import { open, readUses } from "../support/inspection.ts";
import { startCreatingKeys } from "../support/key-creation.ts";
import { createKeyspace, issueKey, readCounter } from "../support/keyspace.ts";
import { startLoad } from "../support/load.ts";
import { measureStall } from "../support/machine-stall.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { clusterOf, connectionTo, eventually } from "../support/postmaster.ts";
import type { ProductNode } from "../support/product.ts";
import {
  countAnswered,
  countStatuses,
  expectAllAdmitted,
  expectAllUnavailable,
  expectWithinDeadline,
  slowestMs,
  verifyCounts,
} from "../support/request-counts.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";
import { untilAnswered } from "../support/until-answered.ts";
import { mountSmallDisk, type SmallDisk } from "./small-disk.ts";

// A node whose embedded Postgres is on a disk that another process fills.

/** The credits of the verified key. */
const balance = 1_000_000;

let disk: SmallDisk;
let instance: TestInstance;
let node: ProductNode;
let cluster: string;
let account: Account;

beforeAll(async () => {
  disk = await mountSmallDisk(256);
  const dataDirectory = join(disk.directory, "data");
  cluster = clusterOf(dataDirectory);
  instance = await createTestInstance({ DATA_DIR: dataDirectory });
  node = await instance.start();
  account = await signUp(node.baseUrl);
});

afterAll(async () => {
  try {
    await disk?.free();
    await instance?.close();
  } finally {
    await disk?.unmount();
  }
});

/**
 * Makes Postgres allocate another 16 MB of write-ahead log, which fails on a full disk. Returns whether it
 * succeeded.
 */
async function switchWalSegment(): Promise<boolean> {
  try {
    const client = await open(await connectionTo(cluster));
    try {
      await client.query("select pg_switch_wal()");
      await client.query("select pg_logical_emit_message(true, 'latchkey test', 'turned')");
      return true;
    } finally {
      await client.end();
    }
  } catch {
    return false;
  }
}

test("while the disk is full, callers get 503; no answered use or verification is lost, and the node recovers automatically when there is space", async () => {
  const { id, key } = await createKey(node.baseUrl, account, "disk");
  const stopMeasuring = await measureStall(node.baseUrl);
  const load = startLoad({ baseUrls: [node.baseUrl], key, connections: 32 });
  const keyspace = await createKeyspace(node.baseUrl, account);
  const issued = await issueKey(keyspace, { credits: { remaining: balance } });
  const verifying = startLoad({
    baseUrls: [node.baseUrl],
    key: keyspace.callerKey,
    connections: 16,
    path: "/open/keys/verify",
    body: { key: issued.key },
  });
  const maker = startCreatingKeys(node.baseUrl, account);
  await Promise.all([load.reached(1_000), verifying.reached(500)]);
  await disk.fill();
  await eventually("Postgres cannot write", async () => !(await switchWalSegment()));
  await eventually("the node is not ready", async () => (await statusOf(node.baseUrl, "/readyz")) === 503);
  expect(await disk.freeBytes()).toBeLessThan(16 * 2 ** 20);
  const full = load.outcomes.length;
  const fullForVerifications = verifying.outcomes.length;
  await Promise.all([load.reached(full + 2_000), verifying.reached(fullForVerifications + 500)]);
  expect((await callOpen(node.baseUrl, key)).status).toBe(503);
  expect(await statusOf(node.baseUrl, "/healthz")).toBe(200);
  const whileFull = load.outcomes.slice(full);
  const verificationsWhileFull = verifying.outcomes.slice(fullForVerifications);

  await disk.free();
  const backMs = await eventually(
    "the node is ready again",
    async () => (await statusOf(node.baseUrl, "/readyz")) === 200,
  );
  await Promise.all([
    load.reached(load.outcomes.length + 500),
    verifying.reached(verifying.outcomes.length + 250),
  ]);
  const { keys, failures } = await maker.stop();
  const [outcomes, verifications] = await Promise.all([load.stop(), verifying.stop()]);
  const stallMs = await stopMeasuring();
  const counted = await readUses(await connectionTo(cluster), id);
  verifyCounts(
    "the disk full",
    { answered: countAnswered(outcomes), counted, received: load.sent() + 1 },
    `503 to ${countStatuses(outcomes)["503"]}, slowest answer ${Math.round(slowestMs(outcomes))} ms, ready ${Math.round(backMs)} ms after there was room, Postgres lost ${node.output().split("Postgres stopped unexpectedly").length - 1} times`,
  );
  const { uses, credits } = await readCounter(await connectionTo(cluster), issued);
  verifyCounts("verifications, the disk full", {
    answered: verifications.filter(({ code }) => code === "VALID").length,
    counted: uses,
    received: verifying.sent(),
  });
  expect(uses).toBe(balance - credits);
  expectWithinDeadline([...outcomes, ...verifications], stallMs);
  expect(countStatuses(whileFull)).toEqual({ 503: whileFull.length });
  expectAllUnavailable(verificationsWhileFull);
  const lastVerifications = verifications.slice(-16);
  expectAllAdmitted(lastVerifications, stallMs);
  expect(lastVerifications.filter(({ status, code }) => status === 200 && code !== "VALID")).toEqual([]);
  expectAllAdmitted(outcomes.slice(-32), stallMs);
  expect(new Set(failures)).toEqual(new Set([503]));
  expect(keys.length).toBeGreaterThan(0);
  for (const made of keys)
    expect((await untilAnswered(() => callOpen(node.baseUrl, made.key))).status).toBe(200);
  expect(await node.stop()).toBe(0);
});
