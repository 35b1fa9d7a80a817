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
    setCookie: response.headers.getSetCookie()[0],
    milliseconds: performance.now() - startedAt,
  };
}

/** Sends a request until it gets 200, and returns the cookie that the response sets. */
async function untilOk(path: string, init: RequestInit = {}): Promise<string> {
  let setCookie: string | undefined;
  await expect
    .poll(
      async () => {
        const response = await send(path, init);
        setCookie = response.setCookie;
        return response.status;
      },
      { interval: 20 },
    )
    .toBe(200);
  return setCookie?.split(";")[0] ?? "";
}

/** Opens a connection to the database, as the node does, sends a statement and closes the connection. */
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
  // On a busy machine, requests get 503 until the app has opened its connections.
  const cookie = { headers: { Cookie: await untilOk("/trpc/session.signIn", credentials) } };
  await untilOk("/open/me", bearer);
  await untilOk("/trpc/apiKeys.list?input={}", cookie);

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
    await untilOk(path, init);
  const recoveredMs = performance.now() - availableAt;
  // The node retries to connect after at most one second. Requests and the health check then wait for connections, some of them one
  // after the other.
  expect(recoveredMs).toBeLessThan(1_500 + 4 * (await stopMeasuringAgain()));
});
