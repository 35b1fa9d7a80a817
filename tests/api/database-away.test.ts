import { join } from "node:path";
import { createDatabase, startTestCluster, type TestCluster } from "@latchkey/db/testing/test-cluster";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Account,
  type CreatedKey,
  callProcedure,
  createKey,
  readUsageCount,
  signUp,
} from "../support/account.ts";
import { countStatuses, startLoad } from "../support/load.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { createPlace, type Place } from "../support/place.ts";
import { eventually } from "../support/postmaster.ts";
import { authSecret, type ProductNode } from "../support/product.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

// A node whose way to its Postgres falls silent or is cut, while callers go on.

let cluster: TestCluster;
let proxy: TcpProxy;
let place: Place;
let node: ProductNode;
let account: Account;
let created: CreatedKey;

beforeAll(async () => {
  cluster = await startTestCluster();
  proxy = await startTcpProxy(join(cluster.connection.host, ".s.PGSQL.5432"));
  await createDatabase(cluster.connection, "product");
  const { user, password } = cluster.connection;
  place = await createPlace({
    DATABASE_URL: `postgres://${user}:${password}@127.0.0.1:${proxy.port}/product`,
    AUTH_SECRET: authSecret,
  });
  node = await place.start();
  account = await signUp(node.baseUrl);
  created = await createKey(node.baseUrl, account, "first");
});

afterAll(async () => {
  proxy?.mend();
  proxy?.release();
  await place?.close();
  await proxy?.close();
  await cluster?.stop();
});

async function expectHealth(readiness: number): Promise<void> {
  expect(await statusOf(node.baseUrl, "/healthz")).toBe(200);
  expect(await statusOf(node.baseUrl, "/readyz")).toBe(readiness);
}

test.each([
  ["falls silent", () => proxy.hold(), () => proxy.release()],
  ["is cut", () => proxy.cut(), () => proxy.mend()],
])(
  "when the way to Postgres %s, callers get 503 within 2 s, and all goes on by itself afterwards",
  async (what, breakWay, mendWay) => {
    await expectHealth(200);
    const before = await readUsageCount(node.baseUrl, account, created.id);
    const load = startLoad({ baseUrls: [node.baseUrl], key: created.key, connections: 50 });
    await load.reached(500);
    breakWay();
    const brokenAt = performance.now();
    // Long enough for every client to be answered more than once.
    await load.reached(load.outcomes.length + 150);
    const away = await callOpen(node.baseUrl, created.key);
    expect(away).toMatchObject({ status: 503, code: "SERVICE_UNAVAILABLE", retryAfter: "1" });
    await expectHealth(503);
    const mended = load.outcomes.length;
    const call = { path: "session.current", kind: "query", cookie: account.cookie } as const;
    const visit = callProcedure(node.baseUrl, call);

    mendWay();
    const isReady = async (): Promise<boolean> => (await statusOf(node.baseUrl, "/readyz")) === 200;
    const backMs = await eventually("it is ready again", isReady, 10_000);
    const outcomes = [...(await load.stop())];
    expect(outcomes.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
    const during = outcomes.slice(0, mended).filter(({ sentAt }) => sentAt > brokenAt);
    expect(during.length).toBeGreaterThan(50);
    expect(countStatuses(during)).toEqual({ 503: during.length });
    const slowestMs = Math.max(...outcomes.map(({ sentAt, endedAt }) => endedAt - sentAt));
    expect(slowestMs).toBeLessThan(2_000);
    expect((await callOpen(node.baseUrl, created.key)).status).toBe(200);
    await expectHealth(200);
    // The web app's statements have more patience, and may still be carried out.
    expect([200, 503]).toContain((await visit).status);

    const answered = (countStatuses(outcomes)["200"] ?? 0) + 1;
    const counted = (await readUsageCount(node.baseUrl, account, created.id)) - before;
    const sent = load.sent() + 2;
    console.info(
      `when the way ${what}: slowest answer ${Math.round(slowestMs)} ms, ready ${Math.round(backMs)} ms after it was mended; ` +
        `answered ${answered}, counted ${counted}, sent ${sent}`,
    );
    expect(answered).toBeLessThanOrEqual(counted);
    expect(counted).toBeLessThanOrEqual(sent);
  },
);

test("a connection to Postgres that is dead for good is given up, and a new one takes its place", async () => {
  const load = startLoad({ baseUrls: [node.baseUrl], key: created.key, connections: 20 });
  await load.reached(200);
  proxy.strand();
  const strandedAt = performance.now();
  await load.reached(load.outcomes.length + 200);
  const outcomes = await load.stop();
  const { "503": lost = 0, "200": answered } = countStatuses(outcomes);
  expect(outcomes).toHaveLength(lost + (answered ?? 0));
  // Each client waits for the dead connection once.
  expect(lost).toBeGreaterThan(0);
  expect(lost).toBeLessThanOrEqual(20);
  const last = outcomes.findLast(({ status }) => status === 503);
  const slowestMs = Math.max(...outcomes.map(({ sentAt, endedAt }) => endedAt - sentAt));
  console.info(`dead connection: given up after ${Math.round((last?.endedAt ?? 0) - strandedAt)} ms`);
  expect(slowestMs).toBeLessThan(2_000);
});
