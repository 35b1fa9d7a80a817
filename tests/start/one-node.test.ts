import { once } from "node:events";
import { readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";
import {
  type Account,
  type CreatedKey,
  createKey,
  findSignedIn,
  readUsageCount,
  signIn,
  signUp,
} from "../support/account.ts";
import { measureStall } from "../support/machine-stall.ts";
import { callOpen, type OpenAnswer, statusOf } from "../support/open-call.ts";
import { eventually, findPostmaster, getPostmaster, isAlive } from "../support/postmaster.ts";
import { type ProductNode, spawnNode } from "../support/product.ts";
import { deadlineMs } from "../support/request-counts.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";
import { describeStart, expectReadySoon, timeStart } from "../support/timed-start.ts";
import { untilAnswered } from "../support/until-answered.ts";

// One data directory from its first start, in steps: each test continues where the previous one ended.

let instance: TestInstance;
let node: ProductNode;
let account: Account;
let created: CreatedKey;

beforeAll(async () => {
  instance = await createTestInstance({ REQUEST_LOG: "on" });
  node = await instance.start();
  account = await signUp(node.baseUrl);
  created = await createKey(node.baseUrl, account, "first");
});

afterAll(async () => {
  await instance?.close();
});

/** How often the key was used. A request that got 503 on a busy machine may be counted. */
const uses = { allowed: 0, sent: 0 };

async function expectAllKept(): Promise<void> {
  expect(await findSignedIn(node.baseUrl, account)).toBe(account.email);
  expect((await untilAnswered(() => signIn(node.baseUrl, account))).status).toBe(200);
  const count = await readUsageCount(node.baseUrl, account, created.id);
  expect(count).toBeGreaterThanOrEqual(uses.allowed);
  expect(count).toBeLessThanOrEqual(uses.sent);
}

async function use(): Promise<void> {
  const { status } = await untilAnswered(() => {
    uses.sent += 1;
    return callOpen(node.baseUrl, created.key);
  });
  expect(status).toBe(200);
  uses.allowed += 1;
}

/** Stops the node with a function of the test, and expects that no process is left. */
async function expectCleanEnd(end: () => Promise<number | null>): Promise<void> {
  const postmaster = await getPostmaster(instance.cluster);
  const requestId = crypto.randomUUID();
  await fetch(`${node.baseUrl}/open/me`, { headers: { "X-Request-Id": requestId } });
  expect(await end()).toBe(0);
  // Its log line was still pending.
  expect(node.output()).toContain(`"status":401,`);
  expect(node.output()).toContain(requestId);
  expect(await findPostmaster(instance.cluster)).toBeUndefined();
  expect(await isAlive(postmaster)).toBe(false);
  expect(node.output()).not.toContain("cannot start");
}

test("the first start prints where it created the database, the URL and the next step", () => {
  expect(node.output()).toContain(`Created a Latchkey database in ${instance.dataDirectory}.`);
  expect(node.output()).toMatch(/Latchkey \d+\.\d+\.\d+ is ready at http:\/\/127\.0\.0\.1:\d+/);
  expect(node.output()).toContain(`Sign up at ${node.baseUrl}/sign-up`);
  expect(node.output()).toContain("open Your API keys in the sidebar");
  expect(node.output()).toContain(`curl ${node.baseUrl}/open/global/config`);
  expect(node.output()).toContain("Press Ctrl-C to stop everything.");
});

test("the data directory and all of its files are private", async () => {
  expect((await stat(instance.dataDirectory)).mode & 0o007).toBe(0);
  for (const name of await readdir(instance.dataDirectory)) {
    expect((await stat(join(instance.dataDirectory, name))).mode & 0o077, name).toBe(0);
  }
});

test("SIGINT stops everything, including Postgres", async () => {
  await use();
  await expectCleanEnd(() => node.stop("SIGINT"));
});

test("after a restart, it is ready soon and keeps user, session, key and count", async () => {
  const started = await timeStart(() => instance.start());
  node = started.node;
  console.info(`started again: ${describeStart(started)}`);
  expectReadySoon(started);
  await expectAllKept();
  await use();
  await expectAllKept();
});

test("SIGTERM stops everything, including Postgres", async () => {
  await expectCleanEnd(() => node.stop("SIGTERM"));
});

test("a Ctrl-C that reaches the whole process group twice stops it cleanly", async () => {
  node = await instance.start({}, { leadsGroup: true });
  await expectCleanEnd(async () => {
    process.kill(-node.pid, "SIGINT");
    process.kill(-node.pid, "SIGINT");
    return await node.exited;
  });
});

test("a signal before it is ready also stops it cleanly", async () => {
  const child = spawnNode({ DATA_DIR: instance.dataDirectory });
  onTestFailed(() => {
    child.kill("SIGKILL"); // It must not serve in the next tests.
  });
  const closed = once(child, "close");
  child.stdout?.resume();
  // Postgres runs, so the start is in progress.
  await eventually("Postgres starts", async () => (await findPostmaster(instance.cluster)) !== undefined);
  child.kill("SIGINT");
  const [status] = await closed;
  expect(status).toBe(0);
  expect(await findPostmaster(instance.cluster)).toBeUndefined();
});

test("the start after kill -9 adopts the Postgres that was left running, and stops it at the end", async () => {
  node = await instance.start();
  const postmaster = await getPostmaster(instance.cluster);
  await node.stop("SIGKILL");
  expect(await isAlive(postmaster)).toBe(true);
  node = await instance.start();
  expect(await getPostmaster(instance.cluster)).toBe(postmaster);
  await expectAllKept();
  await expectCleanEnd(() => node.stop());
});

test("a killed Postgres means 503 within 2 s and never 200 while it is unavailable; then the node recovers automatically", async () => {
  node = await instance.start();
  await use();
  const postmaster = await getPostmaster(instance.cluster);
  // Postgres doesn't start without its settings, so it stays unavailable until they are restored.
  const settings = join(instance.cluster, "postgresql.conf");
  await rename(settings, `${settings}.away`);
  const stopMeasuring = await measureStall(node.baseUrl);
  process.kill(postmaster, "SIGKILL");
  const answers: OpenAnswer[] = [];
  const ask = async (): Promise<number> => {
    const answer = await callOpen(node.baseUrl, created.key);
    answers.push(answer);
    return answer.status;
  };
  // A session of the killed Postgres may still commit a statement that it received.
  const unavailableMs = await eventually("the first 503", async () => (await ask()) === 503);
  const lastUse = answers.length - 1;
  for (let attempt = 0; attempt < 20; attempt += 1) await ask();
  for (const { status, code, retryAfter } of answers.slice(lastUse)) {
    expect({ status, code, retryAfter }).toEqual({
      status: 503,
      code: "SERVICE_UNAVAILABLE",
      retryAfter: "1",
    });
  }
  const slowest = Math.max(...answers.map((answer) => answer.tookMs));
  const stallMs = await stopMeasuring();
  expect(slowest).toBeLessThan(deadlineMs + 2 * stallMs);
  // A busy machine delays each of several consecutive requests.
  expect(unavailableMs).toBeLessThan(5_000 + 5 * stallMs);
  expect(await statusOf(node.baseUrl, "/healthz")).toBe(200);
  expect(await statusOf(node.baseUrl, "/readyz")).toBe(503);

  await rename(`${settings}.away`, settings);
  const isReady = async (): Promise<boolean> => (await statusOf(node.baseUrl, "/readyz")) === 200;
  const back = await eventually("it is ready again", isReady);
  console.info(
    `Postgres killed: slowest 503 ${Math.round(slowest)} ms; ready ${Math.round(back)} ms after it could start`,
  );
  await use();
  expect(await getPostmaster(instance.cluster)).not.toBe(postmaster);
  // All answered uses are counted. A use in a statement of the killed session may be counted.
  uses.allowed += lastUse;
  uses.sent += lastUse + 1;
  await expectAllKept();
  await expectCleanEnd(() => node.stop());
});
