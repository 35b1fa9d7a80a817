import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, signUp } from "../support/account.ts";
import { createFaultEnvironment, type FaultEnvironment } from "../support/fault-environment.ts";
import { holdLocks, readUses, toUuid } from "../support/inspection.ts";
import { createKeyspace, issueKey, readCounter } from "../support/keyspace.ts";
import { type Outcome, startLoad } from "../support/load.ts";
import { measureStall } from "../support/machine-stall.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { startPipelinedLoad } from "../support/pipelined-load.ts";
import {
  countAnswered,
  countStatuses,
  deadlineMs,
  expectAllUnavailable,
  expectWithinDeadline,
  quantileMs,
  slowestMs,
  verifyCounts,
} from "../support/request-counts.ts";

// More pending requests of one key than a node accepts from one user.

let environment: FaultEnvironment;
/** Another user of the node. */
let otherAccount: Account;
beforeAll(async () => {
  environment = await createFaultEnvironment();
  otherAccount = await signUp(environment.node.baseUrl, "grace@example.com");
});
afterAll(async () => {
  await environment?.close();
});

/** 13,824 requests: more than a queue of 10,000, of which one user gets half, and two batches of 1,024. */
const crowd = { connections: 432, requestsEach: 32 } as const;
const crowdSize = crowd.connections * crowd.requestsEach;

/**
 * Measures how long this machine delays the crowd's requests, until the returned function is called, which returns the time that they
 * take while nothing blocks them, in milliseconds. It is the longest one before and after, and no shorter than a response of a busy
 * machine that waits for nothing.
 */
async function measureBaseline(): Promise<() => Promise<number>> {
  const { baseUrl } = environment.node;
  const sendUnblocked = async () => {
    const { key } = await environment.knownKey("unstopped");
    const startedAt = performance.now();
    await startPipelinedLoad({ baseUrl, key, ...crowd }).ended;
    return performance.now() - startedAt;
  };
  const beforeMs = await sendUnblocked();
  const stopMeasuring = await measureStall(baseUrl);
  return async () => {
    const stallMs = await stopMeasuring();
    return Math.max(beforeMs, stallMs, await sendUnblocked());
  };
}

/** How long a request waits for its verdict, in milliseconds. */
const verdictDeadlineMs = 1_500;

/** The maximum number of requests per statement. */
const maxBatch = 1_024;

/** The maximum peak memory of a node with as many pending requests as one user can have, in megabytes. */
const maxResidentMb = 600;

/** Returns the peak memory of a process, in megabytes. */
async function readPeakMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1_024;
}

/** The outcomes of the requests with the blocked key, and of requests with another key at the same time. */
interface CrowdResult {
  readonly crowd: Readonly<Record<string, number>>;
  readonly others: readonly Outcome[];
  /** How long the same requests take on this machine while nothing blocks them, in milliseconds. */
  readonly baselineMs: number;
  /** The uses of the blocked key in the database: the first one, the one afterwards, and possibly more. */
  readonly counted: number;
}

/**
 * Sends the crowd's requests while the key is blocked, and after the first rejection requests with another key, by default of the
 * same user.
 * @param others.requests their number; by default, as many as are sent until the end.
 */
async function sendCrowd(
  when: string,
  stop: (keyId: string) => Promise<() => Promise<void>>,
  { owner, requests }: { readonly owner?: Account; readonly requests?: number },
): Promise<CrowdResult> {
  const { node, database } = environment;
  const [crowdedKey, otherKey] = [
    await environment.knownKey(when),
    await environment.knownKey(`another's ${when}`, owner),
  ];
  const stopMeasuring = await measureBaseline();
  const goOn = await stop(crowdedKey.id);
  const startedAt = performance.now();
  const waiting = startPipelinedLoad({ baseUrl: node.baseUrl, key: crowdedKey.key, ...crowd });
  // No request can be admitted, and none has reached its deadline, so the first response is a rejection because the queue has no
  // more room for the user.
  await waiting.firstAnswer;
  const fullAfterMs = performance.now() - startedAt;
  const others = startLoad({
    baseUrls: [node.baseUrl],
    key: otherKey.key,
    connections: 10,
    ...(requests ? { requests } : {}),
  });
  await others.reached(100);
  const firstHundredMs = performance.now() - startedAt;
  const healthAt = performance.now();
  const health = await statusOf(node.baseUrl, "/healthz");
  const healthMs = performance.now() - healthAt;
  const statuses = countStatuses(
    (await waiting.ended).map((status) => ({ status: Number(status), errorCode: undefined })),
  );
  const answeredAfterMs = performance.now() - startedAt;
  if (!requests) await others.reached(300);
  await others.stop();
  await goOn();
  await environment.recovered();
  const next = await callOpen(node.baseUrl, crowdedKey.key);
  const baselineMs = await stopMeasuring();
  const peakMb = await readPeakMb(node.pid);
  const counted = await readUses(database, crowdedKey.id);
  verifyCounts(
    `a crowd with one key, ${when}`,
    {
      answered: 2 + (next.status === 200 ? 1 : 0) + countAnswered(others.outcomes),
      counted: counted + (await readUses(database, otherKey.id)),
      received: 3 + crowdSize + others.sent(),
    },
    `the first rejected after ${Math.round(fullAfterMs)} ms, the last after ${Math.round(answeredAfterMs)} ms; ` +
      `${JSON.stringify(countStatuses(others.outcomes))} to others: the median within ` +
      `${Math.round(quantileMs(others.outcomes, 0.5))} ms, 99 of 100 within ` +
      `${Math.round(quantileMs(others.outcomes, 0.99))} ms, a hundred until ${Math.round(firstHundredMs)} ms; ` +
      `health within ${Math.round(healthMs)} ms; unblocked, the same requests take ${Math.round(baselineMs)} ms; at most ${Math.round(peakMb)} MB in memory`,
  );
  // A request also waits until those before it on its connection are read and answered, which takes longer on a
  // busy machine.
  expect(fullAfterMs).toBeLessThan(1_000 + baselineMs);
  expect(answeredAfterMs).toBeLessThan(deadlineMs + 2 * baselineMs);
  expect(quantileMs(others.outcomes, 0.5)).toBeLessThan(100 + baselineMs / 10);
  expect(health).toBe(200);
  expect(next.status).toBe(200);
  expect(next.tookMs).toBeLessThan(500 + baselineMs / 10);
  expect(peakMb).toBeLessThan(maxResidentMb);
  return { crowd: statuses, others: others.outcomes, baselineMs, counted };
}

test("returns 503 immediately to a user with half of the queue while Postgres doesn't respond, and stays healthy", async () => {
  const silence = async () => {
    environment.proxy.hold();
    return async () => environment.proxy.release();
  };
  const { crowd, others, counted } = await sendCrowd("while Postgres is silent", silence, { requests: 100 });
  expect(crowd).toEqual({ 503: crowdSize });
  expectAllUnavailable(others);
  expect(others.filter(({ retryAfter }) => retryAfter !== "1")).toEqual([]);
  // The two statements in flight are executed when Postgres responds again. Nothing in the queue behind them is.
  expect(counted).toBeGreaterThanOrEqual(2);
  expect(counted).toBeLessThanOrEqual(2 + 2 * maxBatch);
});

test("returns 503 immediately to a key that fills half of the queue while its row is locked, and admits other users", async () => {
  const when = "while another transaction holds its row";
  const lock = async (keyId: string) => {
    const statement = "select from key_counters where key_id = $1 for update";
    return (await holdLocks(environment.database, statement, [toUuid(keyId)])).release;
  };
  const { crowd, others, baselineMs, counted } = await sendCrowd(when, lock, { owner: otherAccount });
  expect(crowd).toEqual({ 503: crowdSize });
  // The node reads the crowd's requests at the same time.
  expectWithinDeadline(others, baselineMs);
  // The first ones can be in the batch that waits for the lock.
  const later = others.slice(-Math.floor(others.length / 2));
  expect(later.length).toBeGreaterThan(100);
  expect(countStatuses(later)).toEqual({ 200: later.length });
  expect(counted).toBe(2);
});

test("never returns 503 immediately to a user because another user has more requests pending than the queue has places", async () => {
  const { node, proxy } = environment;
  const [crowdedKey, otherKey] = [
    await environment.knownKey("a crowd's"),
    await environment.knownKey("another user's", otherAccount),
  ];
  proxy.hold();
  const waiting = startPipelinedLoad({ baseUrl: node.baseUrl, key: crowdedKey.key, ...crowd });
  await waiting.firstAnswer;
  const others = startLoad({ baseUrls: [node.baseUrl], key: otherKey.key, connections: 10 });
  // The node usually reads the first requests of the other user before it has answered all of these.
  for (let count = 0; count < 5; count += 1) await statusOf(node.baseUrl, "/healthz");
  proxy.slow(20);
  proxy.release();
  await others.reached(100);
  await others.stop();
  const ofCrowd = countStatuses(
    (await waiting.ended).map((status) => ({ status: Number(status), errorCode: undefined })),
  );
  proxy.slow(0);
  console.info(
    `a crowd with one key: ${JSON.stringify(ofCrowd)}; ${JSON.stringify(countStatuses(others.outcomes))} to another ` +
      `user: the median within ${Math.round(quantileMs(others.outcomes, 0.5))} ms, the slowest within ` +
      `${Math.round(slowestMs(others.outcomes))} ms`,
  );
  expect(ofCrowd["503"]).toBeGreaterThan(0);
  // A request with a place in the queue gets 503 only at a deadline, which it can reach on a busy machine.
  const isLate = ({ status, sentAt, endedAt }: Outcome) =>
    status === 503 && endedAt - sentAt > verdictDeadlineMs / 2;
  const inTime = others.outcomes.filter((outcome) => !isLate(outcome));
  expect(inTime.length).toBeGreaterThanOrEqual(50);
  expect(countStatuses(inTime)).toEqual({ 200: inTime.length });
});

test("returns 503 immediately to verifications when their queue is full, and spends nothing", async () => {
  const { node, account, database, proxy } = environment;
  const keyspace = await createKeyspace(node.baseUrl, account);
  const issued = await issueKey(keyspace, { credits: { remaining: 100 } });
  const target = { key: keyspace.callerKey, path: "/open/keys/verify", body: { key: issued.key } };
  const verifyOnce = async () => {
    const load = startLoad({ ...target, baseUrls: [node.baseUrl], connections: 1, requests: 1 });
    await load.ended;
    return load.outcomes[0];
  };
  expect(await verifyOnce()).toMatchObject({ code: "VALID" });
  const stopMeasuring = await measureBaseline();
  proxy.hold();
  const startedAt = performance.now();
  // 2,560 requests: more than a queue of 2,000, of which one user gets half.
  const verifying = startPipelinedLoad({
    ...target,
    baseUrl: node.baseUrl,
    connections: 80,
    requestsEach: 32,
  });
  await verifying.firstAnswer;
  const fullAfterMs = performance.now() - startedAt;
  const rejected = await verifyOnce();
  const health = await statusOf(node.baseUrl, "/healthz");
  const statuses = await verifying.ended;
  const answeredAfterMs = performance.now() - startedAt;
  proxy.release();
  await environment.recovered();
  const baselineMs = await stopMeasuring();
  const spent = await readCounter(database, issued);
  expect(statuses).toEqual(statuses.map(() => "503"));
  expect(statuses).toHaveLength(80 * 32);
  expect(fullAfterMs).toBeLessThan(1_000 + baselineMs);
  expect(answeredAfterMs).toBeLessThan(deadlineMs + 2 * baselineMs);
  expect(rejected).toMatchObject({ status: 503, code: "SERVICE_UNAVAILABLE", retryAfter: "1" });
  expect(health).toBe(200);
  // The node hasn't decided about any of them, so that it had nothing to write.
  expect(spent).toEqual({ uses: 1, credits: 99 });
  expect(await verifyOnce()).toMatchObject({ code: "VALID" });
});
