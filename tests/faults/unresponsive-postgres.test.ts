import { join } from "node:path";
import { Admission } from "@latchkey/auth/admission";
import { createApiKey } from "@latchkey/auth/key-format";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createFaultEnvironment, type FaultEnvironment } from "../support/fault-environment.ts";
import { callOpen } from "../support/open-call.ts";
import { measureQueuedMs, readQueuedMs } from "../support/processor-queue.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

// A Postgres that stops responding when no caller waits for its response.

let environment: FaultEnvironment;
beforeAll(async () => {
  environment = await createFaultEnvironment();
});
afterAll(async () => {
  await environment?.close();
});

test("abandons a statement without a response after all of its callers have been answered", async () => {
  const { connection } = environment.cluster;
  const proxy = await startTcpProxy(join(connection.host, ".s.PGSQL.5432"));
  onTestFinished(() => proxy.close());
  let blackholesNext = false;
  const node = new Admission({
    connection: { ...connection, database: "product", host: "127.0.0.1", port: proxy.port },
    deadlineMs: 500,
    onStatement: () => {
      if (blackholesNext) proxy.blackhole();
      blackholesNext = false;
    },
  });
  onTestFinished(() => node.close());
  const { key } = await environment.knownKey("unwatched");
  const isAdmitted = async () => (await node.admit(key)).kind === "admitted";
  // On a busy machine, the first connection can take longer than the deadline.
  await expect.poll(isAdmitted).toBe(true);
  // A known key and an unknown one: two statements, the second of which is sent when their time is over.
  proxy.hold();
  const both = Promise.all([node.admit(key), node.admit(createApiKey().secret)]);
  blackholesNext = true;
  expect((await both).map(({ kind }) => kind)).toEqual(["unavailable", "unavailable"]);
  proxy.release();
  await expect.poll(isAdmitted).toBe(true);
});

/**
 * The longest stop without a response from Postgres, in milliseconds, because the parts of a node are closed one after the other: 0.5 s
 * for the server, 5 s for jobs that are running, 1 s for the purger, 0.5 s each for admission and the verifier, 2.5 s for the
 * statistics, and 1 s for each of five pools. It is about 4 s unless a job is running.
 */
const maxStopMs = 15_000;

test("a node whose Postgres stopped responding stops on SIGTERM", async () => {
  const { node, proxy } = environment;
  const { key } = await environment.knownKey("stopping");
  proxy.hold();
  expect((await callOpen(node.baseUrl, key)).status).toBe(503);
  const queuedBeforeMs = readQueuedMs(node.pid);
  const stopMeasuring = measureQueuedMs(node.pid);
  const signalledAt = performance.now();
  expect(await node.stop("SIGTERM")).toBe(0);
  const tookMs = performance.now() - signalledAt;
  console.info(`SIGTERM while Postgres does not respond: stopped within ${Math.round(tookMs)} ms`);
  expect(tookMs).toBeLessThan(maxStopMs + stopMeasuring() - queuedBeforeMs);
});
