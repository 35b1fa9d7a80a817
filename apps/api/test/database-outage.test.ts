import { measureSlowest } from "@latchkey/db/testing/measure-slowest";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { defaultDeadlines } from "../src/deadlines.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ deadlines: defaultDeadlines });
});
afterAll(async () => {
  await app.close();
});

async function send(path: string, init: RequestInit = {}) {
  const startedAt = performance.now();
  const response = await fetch(app.baseUrl + path, init);
  const body = await response.text();
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    body,
    milliseconds: performance.now() - startedAt,
  };
}

/** Opens a connection, uses it and closes it, for which a busy machine needs as long as for the connections of the node. */
async function connectOnce(): Promise<void> {
  const client = new pg.Client({ ...testClientConfig(inject("postgres"), "test"), database: app.database });
  await client.connect();
  await client.query("select");
  await client.end();
}

test("responds with 503 within two seconds during a database outage, and recovers afterwards", async () => {
  const { email, userId } = await app.addUser();
  const { secret } = await app.addKey(userId);
  const bearer = { headers: { Authorization: `Bearer ${secret}` } };
  const credentials = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email, password }),
  };
  const session = await fetch(`${app.baseUrl}/trpc/session.signIn`, credentials);
  const cookie = { headers: { Cookie: session.headers.getSetCookie()[0]?.split(";")[0] ?? "" } };
  // The first requests are slower than later ones, and can get 503.
  await expect.poll(async () => (await send("/open/me", bearer)).status).toBe(200);
  await expect.poll(async () => (await send("/trpc/apiKeys.list?input={}", cookie)).status).toBe(200);

  await app.setDatabaseAvailable(false);
  const stopMeasuring = measureSlowest(() => send("/healthz"));
  const took: number[] = [];
  for (const [path, init] of [
    ["/open/global/config", bearer],
    ["/open/nowhere", bearer],
    ["/trpc/session.current", cookie],
    ["/trpc/apiKeys.list?input={}", cookie],
    ["/trpc/session.signIn", credentials],
    ["/readyz", {}],
  ] as const) {
    const { status, retryAfter, body, milliseconds } = await send(path, init);
    expect([path, status]).toEqual([path, 503]);
    took.push(milliseconds);
    if (path.startsWith("/open"))
      expect([retryAfter, JSON.parse(body).error.code]).toEqual(["1", "SERVICE_UNAVAILABLE"]);
    if (path.startsWith("/trpc")) expect(body).toContain("SERVICE_UNAVAILABLE");
  }
  expect(Math.max(...took)).toBeLessThan(2_000 + (await stopMeasuring()));
  expect((await send("/healthz")).status).toBe(200);
  expect((await send("/open/me", { headers: { Authorization: "Bearer typo" } })).status).toBe(403);

  await app.setDatabaseAvailable(true);
  const stopMeasuringAgain = measureSlowest(connectOnce);
  const availableAt = performance.now();
  for (const [path, init] of [
    ["/open/me", bearer],
    ["/trpc/apiKeys.list?input={}", cookie],
    ["/readyz", {}],
  ] as const)
    await expect.poll(async () => (await send(path, init)).status, { interval: 20 }).toBe(200);
  const tookMs = performance.now() - availableAt;
  // The node retries to connect after at most one second, and opens one connection for admission and one for each kind of request.
  expect(tookMs).toBeLessThan(1_500 + 4 * (await stopMeasuringAgain()));
});
