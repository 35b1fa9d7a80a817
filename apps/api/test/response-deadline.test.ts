import { setTimeout as delay } from "node:timers/promises";
import { measureSlowest } from "@latchkey/db/testing/measure-slowest";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { defaultDeadlines } from "../src/deadlines.ts";
import { defineEndpoint } from "../src/http/endpoint.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

/** An endpoint whose handler responds or hangs. */
const trial = defineEndpoint({
  method: "POST",
  path: "/trial",
  operationId: "trial",
  summary: "Trial",
  description: "Hangs as requested.",
  access: "key",
  request: { body: z.strictObject({ hangs: z.boolean() }) },
  response: { status: 201, description: "The result.", schema: z.object({ ok: z.boolean() }) },
  errors: [],
  handle: async ({ body }) => {
    if (body.hangs) await new Promise(() => undefined);
    return { ok: true };
  },
});

let app: TestApp;
beforeAll(async () => {
  const { responseMs } = defaultDeadlines;
  app = await startTestApp({ extraEndpoints: [trial], deadlines: { responseMs } });
});
afterAll(() => app.close());

async function send(body: string | ReadableStream) {
  const { secret } = await app.addKey();
  const headers = { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" };
  const startedAt = performance.now();
  const init = { method: "POST", headers, body, duplex: "half" } as RequestInit; // Node's types lack `duplex`.
  const response = await fetch(`${app.baseUrl}/open/trial`, init);
  const tookMs = performance.now() - startedAt;
  return { response, tookMs, body: await response.json() };
}

test("a client that sends its body slowly doesn't get 503", async () => {
  // On a busy machine, a request can get 503 until the app has opened its connections.
  await expect.poll(async () => (await send('{"hangs":false}')).response.status).toBe(201);
  const pieces = ['{"ha', 'ngs":', "false", "}"];
  const body = new ReadableStream({
    async pull(controller) {
      await delay(700);
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(piece));
    },
  });
  expect((await send(body)).response.status).toBe(201);
});

test("a handler that doesn't finish gets 503 within two seconds", async () => {
  const stopMeasuring = measureSlowest(() => fetch(`${app.baseUrl}/healthz`).then((health) => health.text()));
  const { response, tookMs, body } = await send('{"hangs":true}');
  const slowestMs = await stopMeasuring();
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(body).toMatchObject({ error: { code: "SERVICE_UNAVAILABLE" } });
  expect(tookMs).toBeLessThan(2_000 + slowestMs);
});
