import { once } from "node:events";
import { readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Account,
  type CreatedKey,
  createKey,
  findSignedIn,
  readUsageCount,
  signIn,
  signUp,
} from "../support/account.ts";
import { callOpen, type OpenAnswer, statusOf } from "../support/open-call.ts";
import { createPlace, type Place } from "../support/place.ts";
import { eventually, findPostmaster, getPostmaster, isAlive } from "../support/postmaster.ts";
import { type ProductNode, readyAgainWithinMs, spawnNode } from "../support/product.ts";

// One data directory from its first start on, told in steps: each test goes on where the one before ended.

let place: Place;
let node: ProductNode;
let account: Account;
let created: CreatedKey;

beforeAll(async () => {
  place = await createPlace({ REQUEST_LOG: "on" });
  node = await place.start();
  account = await signUp(node.baseUrl);
  created = await createKey(node.baseUrl, account, "first");
});

afterAll(async () => {
  await place?.close();
});

async function expectAllKept(uses: number): Promise<void> {
  expect(await findSignedIn(node.baseUrl, account)).toBe(account.email);
  expect((await signIn(node.baseUrl, account)).status).toBe(200);
  expect(await readUsageCount(node.baseUrl, account, created.id)).toBe(uses);
}

async function use(): Promise<void> {
  expect((await callOpen(node.baseUrl, created.key)).status).toBe(200);
}

/** Ends the node with a task of the test's own, and sees that nothing of it is left. */
async function expectCleanEnd(end: () => Promise<number | null>): Promise<void> {
  const postmaster = await getPostmaster(place.cluster);
  const requestId = crypto.randomUUID();
  await fetch(`${node.baseUrl}/open/me`, { headers: { "X-Request-Id": requestId } });
  expect(await end()).toBe(0);
  // Its line was still waiting to be written.
  expect(node.output()).toContain(`"status":401,`);
  expect(node.output()).toContain(requestId);
  expect(await findPostmaster(place.cluster)).toBeUndefined();
  expect(await isAlive(postmaster)).toBe(false);
  expect(node.output()).not.toContain("cannot start");
}

test("the first start prints the address and what to do next", () => {
  expect(node.output()).toMatch(/Latchkey \d+\.\d+\.\d+ is ready at http:\/\/127\.0\.0\.1:\d+/);
  expect(node.output()).toContain(`Sign up at ${node.baseUrl}/sign-up`);
  expect(node.output()).toContain("API Keys");
  expect(node.output()).toContain(`curl ${node.baseUrl}/open/global/config`);
  expect(node.output()).toContain("Ctrl-C stops everything.");
});

test("the data directory is private, and so is all that it holds", async () => {
  expect((await stat(place.dataDirectory)).mode & 0o007).toBe(0);
  for (const name of await readdir(place.dataDirectory)) {
    expect((await stat(join(place.dataDirectory, name))).mode & 0o077, name).toBe(0);
  }
});

test("SIGINT stops everything, Postgres too", async () => {
  await use();
  await expectCleanEnd(() => node.stop("SIGINT"));
});

test("started again it is soon ready and keeps user, session, key and count", async () => {
  node = await place.start();
  console.info(`started again: ready within ${Math.round(node.readyWithinMs)} ms`);
  expect(node.readyWithinMs).toBeLessThan(readyAgainWithinMs);
  await expectAllKept(1);
  await use();
  await expectAllKept(2);
});

test("SIGTERM stops everything, Postgres too", async () => {
  await expectCleanEnd(() => node.stop("SIGTERM"));
});

test("a Ctrl-C that reaches the whole process group twice ends it as cleanly", async () => {
  node = await place.start({}, { leadsGroup: true });
  await expectCleanEnd(async () => {
    process.kill(-node.pid, "SIGINT");
    process.kill(-node.pid, "SIGINT");
    return await node.exited;
  });
});

test("a signal that comes before it is ready ends it cleanly too", async () => {
  const child = spawnNode({ DATA_DIR: place.dataDirectory });
  const closed = once(child, "close");
  child.stdout?.resume();
  // Postgres runs, so that the start is half way.
  await eventually(
    "Postgres starts",
    async () => (await findPostmaster(place.cluster)) !== undefined,
    20_000,
  );
  child.kill("SIGINT");
  const [status] = await closed;
  expect(status).toBe(0);
  expect(await findPostmaster(place.cluster)).toBeUndefined();
});

test("the start after kill -9 adopts the Postgres that was left behind, and stops it at its end", async () => {
  node = await place.start();
  const postmaster = await getPostmaster(place.cluster);
  await node.stop("SIGKILL");
  expect(await isAlive(postmaster)).toBe(true);
  node = await place.start();
  expect(await getPostmaster(place.cluster)).toBe(postmaster);
  await expectAllKept(2);
  await expectCleanEnd(() => node.stop());
});

test("a killed Postgres means 503 within 2 s and never 200 while it is away; then all goes on by itself", async () => {
  node = await place.start();
  await use();
  const postmaster = await getPostmaster(place.cluster);
  // Without its settings Postgres does not start, so that it stays away until they are back.
  const settings = join(place.cluster, "postgresql.conf");
  await rename(settings, `${settings}.away`);
  process.kill(postmaster, "SIGKILL");
  const answers: OpenAnswer[] = [];
  const ask = async (): Promise<number> => {
    const answer = await callOpen(node.baseUrl, created.key);
    answers.push(answer);
    return answer.status;
  };
  // A session of the killed Postgres may commit what it was given before it notices.
  await eventually("the first 503", async () => (await ask()) === 503, 5_000);
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
  expect(slowest).toBeLessThan(2_000);
  expect(await statusOf(node.baseUrl, "/healthz")).toBe(200);
  expect(await statusOf(node.baseUrl, "/readyz")).toBe(503);

  await rename(`${settings}.away`, settings);
  const isReady = async (): Promise<boolean> => (await statusOf(node.baseUrl, "/readyz")) === 200;
  const back = await eventually("it is ready again", isReady, 20_000);
  console.info(
    `Postgres killed: slowest 503 ${Math.round(slowest)} ms; ready ${Math.round(back)} ms after it could start`,
  );
  await use();
  expect(await getPostmaster(place.cluster)).not.toBe(postmaster);
  expect(await findSignedIn(node.baseUrl, account)).toBe(account.email);
  // All that was answered is counted; what the killed session was given may be.
  const count = await readUsageCount(node.baseUrl, account, created.id);
  expect(count).toBeGreaterThanOrEqual(4 + lastUse);
  expect(count).toBeLessThanOrEqual(4 + lastUse + 1);
  await expectCleanEnd(() => node.stop());
});
