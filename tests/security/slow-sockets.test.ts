// Hundreds of callers that send one byte per second delay no others, and are disconnected when their time is up.
import { connect, type Socket } from "node:net";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { measureSlowest } from "@latchkey/db/testing/measure-slowest";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey, signUp } from "../support/account.ts";
import { callOpen, statusOf } from "../support/open-call.ts";
import { type Product, startProduct } from "../support/prepared-instance.ts";

let product: Product;
let key: string;

beforeAll(async () => {
  product = await startProduct();
  key = (await createKey(product.baseUrl, await signUp(product.baseUrl), "key")).key;
});

afterAll(async () => {
  await product?.stop();
});

interface SlowCaller {
  /** Settles with the response and the duration when the server has ended the connection. */
  readonly ended: Promise<{
    readonly status: string | undefined;
    readonly requestId: string | undefined;
    readonly afterMs: number;
  }>;
  readonly socket: Socket;
}

/** Sends this immediately, and then one byte per second. */
function callSlowly(beginning: string): SlowCaller {
  const startedAt = performance.now();
  const socket = connect(Number(new URL(product.baseUrl).port), "127.0.0.1");
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  socket.on("error", () => undefined);
  socket.write(beginning);
  const timer = setInterval(() => socket.writable && socket.write("a"), 1_000);
  const ended: SlowCaller["ended"] = new Promise((resolve) => {
    socket.once("close", () => {
      clearInterval(timer);
      resolve({
        status: /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1],
        requestId: /^x-request-id: (.*)\r$/im.exec(text)?.[1],
        afterMs: performance.now() - startedAt,
      });
    });
  });
  return { ended, socket };
}

test("500 slow callers don't delay the open API, and none is connected beyond its limit", async () => {
  const slowHeaderCallers = Array.from({ length: 300 }, () =>
    callSlowly("GET /open/me HTTP/1.1\r\nHost: x\r\nX-Slow: "),
  );
  const authorized = `POST /open/workspaces HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow-body\r\nAuthorization: Bearer ${key}`;
  const slowBodyCallers = Array.from({ length: 200 }, () =>
    callSlowly(`${authorized}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"name":"`),
  );
  // The node runs in this process, so whatever delays this process delays the node.
  const stopMeasuring = measureSlowest(() => setImmediate());
  await delay(500);
  const until = performance.now() + 6_000;
  const took: number[] = [];
  while (performance.now() < until || took.length <= 50) {
    const { status, tookMs } = await callOpen(product.baseUrl, key, "/open/me");
    expect(status).toBe(200);
    took.push(tookMs);
    await delay(20);
  }
  expect(await statusOf(product.baseUrl, "/readyz")).toBe(200);
  const headerEnds = await Promise.all(slowHeaderCallers.map(({ ended }) => ended));
  const bodyEnds = await Promise.all(slowBodyCallers.map(({ ended }) => ended));
  const slowestMs = await stopMeasuring();
  expect(Math.max(...took)).toBeLessThan(2_000 + slowestMs);
  for (const { status, afterMs } of headerEnds) {
    expect(status).toBe("408");
    expect(afterMs).toBeGreaterThan(9_000);
    expect(afterMs).toBeLessThan(16_000 + slowestMs);
  }
  for (const { status, requestId, afterMs } of bodyEnds) {
    // The headers of these requests have arrived.
    expect([status, requestId]).toEqual(["408", "slow-body"]);
    expect(afterMs).toBeLessThan(36_000 + slowestMs);
  }
  expect((await callOpen(product.baseUrl, key)).status).toBe(200);
});
