import { once } from "node:events";
import { connect } from "node:net";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { defaultDeadlines } from "../src/deadlines.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({
    eventLog: { settleMs: 500, firstIntervalMs: 500, maxIntervalMs: 2_000 },
    // Requests are rejected while a table is locked.
    deadlines: defaultDeadlines,
  });
});
afterAll(async () => {
  await app.close();
});

type Line = Readonly<Record<string, unknown>>;
let readCount = 0;

/** The lines that were logged since the last call of {@link nextLines}. */
function readUnread(): readonly Line[] {
  const lines = app.readLog().split("\n").slice(readCount, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

/** The lines that were logged since the last call. */
function nextLines(): readonly Line[] {
  const lines = readUnread();
  readCount += lines.length;
  return lines;
}

/** The last line about the state of the database since the last call of {@link nextLines}. */
const readOutageState = () =>
  readUnread()
    .map(({ msg }) => String(msg))
    .findLast((message) => message.startsWith("the database is"));

const sum = (lines: readonly Line[], name: string): number =>
  lines.reduce((total, line) => total + Number(line[name] ?? 0), 0);

/** Sends the request from 50 concurrent clients until `stop` is called, and counts responses by status. */
function startFlood(path: string, init: RequestInit) {
  const statuses: Record<number, number> = {};
  let isStopped = false;
  onTestFinished(() => {
    isStopped = true;
  });
  const clients = Array.from({ length: 50 }, async () => {
    while (!isStopped) {
      const response = await fetch(app.baseUrl + path, init);
      await response.arrayBuffer();
      const { status } = response;
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  });
  return {
    rejections: () => statuses[503] ?? 0,
    /** Waits until this many more requests were rejected. */
    async waitForRejections(count: number) {
      const before = statuses[503] ?? 0;
      await expect.poll(() => statuses[503] ?? 0, { interval: 10 }).toBeGreaterThan(before + count);
    },
    async stop() {
      isStopped = true;
      await Promise.all(clients);
      return statuses;
    },
  };
}

test("an outage under load logs few lines, one of which counts all rejected requests", async () => {
  const { email, userId } = await app.addUser();
  const { secret } = await app.addKey(userId);
  const bearer = { headers: { Authorization: `Bearer ${secret}` } };
  const signIn = () =>
    fetch(`${app.baseUrl}/trpc/session.signIn`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ email, password }),
    });
  let setCookie = "";
  const signInStatuses: number[] = [];
  // On a busy machine, requests get 503 until the app has opened its connections.
  await expect
    .poll(async () => {
      const { status, headers } = await signIn();
      setCookie = headers.getSetCookie()[0] ?? "";
      signInStatuses.push(status);
      return status;
    })
    .toBe(200);
  // These are counted in later lines, some of which are logged when an outage ends. The lines below must not contain them.
  await expect.poll(countRejected).toBe(countUnavailable(signInStatuses));
  await expect.poll(readOutageState).toBeOneOf([undefined, "the database is available again"]);
  const cookie = { headers: { Cookie: setCookie.split(";")[0] ?? "" } };
  nextLines();
  const floods = [startFlood("/open/me", bearer), startFlood("/trpc/session.current", cookie)];
  onTestFinished(() => app.setDatabaseAvailable(true));
  await app.setDatabaseAvailable(false);
  // On a busy machine, requests can get 503 before the outage begins, and after it has ended. They are counted in other lines.
  const earlier = floods.reduce((total, flood) => total + flood.rejections(), 0);
  await Promise.all(floods.map((flood) => flood.waitForRejections(200)));
  const statusCounts = await Promise.all(floods.map((flood) => flood.stop()));
  expect(readOutageState()).not.toBe("the database is available again");
  await app.setDatabaseAvailable(true);
  await expect.poll(readOutageState).toBe("the database is available again");
  const rejected = statusCounts.reduce((total, statuses) => total + (statuses[503] ?? 0), 0);
  const laterStatuses: number[] = [];
  await expect
    .poll(async () => {
      const { status } = await fetch(`${app.baseUrl}/open/me`, bearer);
      laterStatuses.push(status);
      return status;
    })
    .toBe(200);
  await expect.poll(countRejected).toBe(rejected + countUnavailable(laterStatuses));
  const lines = nextLines();
  expect(lines.length).toBeLessThan(20);
  const [begin, end] = ["unavailable", "available again"].map((state) =>
    lines.filter(({ msg }) => msg === `the database is ${state}`),
  );
  // Which error is logged first, and whether it has a code, depends on what the clients were doing.
  expect(begin).toMatchObject([{ level: 50, err: { message: expect.stringMatching(/./) } }]);
  expect(end).toMatchObject([{ rejectedRequests: expect.any(Number), durationMs: expect.any(Number) }]);
  expect(end?.[0]?.rejectedRequests).toBeGreaterThan((rejected - earlier) * 0.9);
});

test("repeated 503 responses without an outage log few lines, and none about an outage", async () => {
  const { secret } = await app.addKey();
  const flood = startFlood("/open/workspaces", { headers: { Authorization: `Bearer ${secret}` } });
  nextLines();
  await app.owner.transaction().execute(async (trx) => {
    await sql`lock table workspaces in access exclusive mode`.execute(trx);
    await flood.waitForRejections(100);
  });
  const { 503: rejected } = await flood.stop();
  // The last counts are logged after an interval.
  await expect.poll(() => app.readLog().includes('"count"') && countRejected()).toBe(rejected);
  const lines = nextLines();
  expect(lines.length).toBeLessThan(20);
  expect(lines.filter(({ msg }) => String(msg).startsWith("the database"))).toEqual([]);
});

const countUnavailable = (statuses: readonly number[]): number =>
  statuses.filter((status) => status === 503).length;

/** How many rejected requests the lines since the last call of {@link nextLines} count. */
function countRejected(): number {
  const lines = readUnread();
  return sum(lines, "count") + sum(lines, "rejectedRequests");
}

test("a client that disconnects while sending a body is not logged as an error or outage", async () => {
  nextLines();
  const { hostname, port } = new URL(app.baseUrl);
  for (let count = 0; count < 3; count += 1) {
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    socket.write(
      `POST /trpc/session.signIn HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    );
    // When the server has answered another request, it has read these headers.
    await fetch(`${app.baseUrl}/healthz`);
    socket.resetAndDestroy();
    await once(socket, "close");
  }
  // When these requests are answered, the server has logged whatever it logs about the disconnects.
  await fetch(`${app.baseUrl}/healthz`);
  await fetch(`${app.baseUrl}/readyz`);
  expect(nextLines()).toEqual([]);
});
