import { once } from "node:events";
import { connect } from "node:net";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { password, startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ eventLog: { settleMs: 500, firstIntervalMs: 500, maxIntervalMs: 2_000 } });
});
afterAll(async () => {
  await app.close();
});

type Line = Readonly<Record<string, unknown>>;
let read = 0;

/** The lines that were logged since the last call. */
function nextLines(): readonly Line[] {
  const lines = app.logged().split("\n").slice(0, -1);
  const fresh = lines.slice(read).map((line) => JSON.parse(line) as Line);
  read = lines.length;
  return fresh;
}

const sum = (lines: readonly Line[], name: string): number =>
  lines.reduce((total, line) => total + Number(line[name] ?? 0), 0);

/** Sends the request from 50 clients until told to stop, and counts the statuses of the responses. */
function startFlood(path: string, init: RequestInit) {
  const statuses: Record<number, number> = {};
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const clients = Array.from({ length: 50 }, async () => {
    while (!isOver) {
      const response = await fetch(app.baseUrl + path, init);
      await response.arrayBuffer();
      const { status } = response;
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  });
  return {
    statuses,
    reached: (count: number) =>
      expect.poll(() => statuses[503] ?? 0, { timeout: 30_000, interval: 10 }).toBeGreaterThan(count),
    async stop() {
      isOver = true;
      await Promise.all(clients);
      return statuses;
    },
  };
}

test("an outage under load makes few lines, one when it ends, and counts every rejected request", async () => {
  const { email, userId } = await app.addUser();
  const { secret } = await app.addKey(userId);
  const bearer = { headers: { Authorization: `Bearer ${secret}` } };
  const signedIn = await fetch(`${app.baseUrl}/trpc/session.signIn`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  const cookie = { headers: { Cookie: signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "" } };
  const floods = [startFlood("/open/me", bearer), startFlood("/trpc/session.current", cookie)];
  nextLines();
  onTestFinished(() => app.setDatabaseAvailable(true));
  await app.setDatabaseAvailable(false);
  for (const flood of floods) await flood.reached(200);
  const answered = await Promise.all(floods.map((flood) => flood.stop()));
  expect(app.logged()).not.toContain("the database is available again");
  await app.setDatabaseAvailable(true);
  await expect.poll(() => app.logged(), { timeout: 20_000 }).toContain("the database is available again");
  expect((await fetch(`${app.baseUrl}/open/me`, bearer)).status).toBe(200);
  const lines = nextLines();
  expect(lines.length).toBeLessThan(20);
  const [begin, end] = ["unavailable", "available again"].map((state) =>
    lines.filter(({ msg }) => msg === `the database is ${state}`),
  );
  // Which error comes first, and whether it has a code, depends on what a client was doing.
  expect(begin).toMatchObject([{ level: 50, err: { message: expect.stringMatching(/./) } }]);
  const rejected = answered.reduce((total, statuses) => total + (statuses[503] ?? 0), 0);
  expect(end).toMatchObject([{ rejectedRequests: rejected, durationMs: expect.any(Number) }]);
}, 60_000);

test("a caller who gets 503 again and again makes few lines, and none says that there is an outage", async () => {
  const { secret } = await app.addKey();
  const flood = startFlood("/open/workspaces", { headers: { Authorization: `Bearer ${secret}` } });
  nextLines();
  await app.owner.transaction().execute(async (trx) => {
    await sql`lock table workspaces in access exclusive mode`.execute(trx);
    await flood.reached(100);
  });
  const { 503: rejected } = await flood.stop();
  // The last counts are written after an interval.
  await expect
    .poll(() => app.logged().includes('"count"') && countRejected(), { timeout: 15_000 })
    .toBe(rejected);
  const lines = nextLines();
  expect(lines.length).toBeLessThan(20);
  expect(lines.filter(({ msg }) => String(msg).startsWith("the database"))).toEqual([]);
}, 60_000);

/** The sum of the counts since the last call of `nextLines`. */
function countRejected(): number {
  const lines = app.logged().split("\n").slice(read, -1);
  return sum(
    lines.map((line) => JSON.parse(line) as Line),
    "count",
  );
}

test("a client that leaves while it sends a body is logged neither as an error nor as an outage", async () => {
  nextLines();
  const { hostname, port } = new URL(app.baseUrl);
  for (let count = 0; count < 3; count += 1) {
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    socket.write(
      `POST /trpc/session.signIn HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    );
    // The server has read the head once it answers something else.
    await fetch(`${app.baseUrl}/healthz`);
    socket.resetAndDestroy();
    await once(socket, "close");
  }
  // Whatever the server logs about it, it has logged by the time that this is answered.
  await fetch(`${app.baseUrl}/healthz`);
  await fetch(`${app.baseUrl}/readyz`);
  expect(nextLines()).toEqual([]);
});
