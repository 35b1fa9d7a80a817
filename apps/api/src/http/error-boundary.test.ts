import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable, Writable } from "node:stream";
import { AppError } from "@latchkey/errors";
import Koa from "koa";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EventLog } from "../event-log/event-log.ts";
import { createFailureAnswer, createKoaErrorListener, errorBoundary } from "./error-boundary.ts";
import { assignRequestId } from "./request-id.ts";

let logged = "";
const stream = new Writable({
  write(chunk, _encoding, done) {
    logged += String(chunk);
    done();
  },
});

const log = pino({ level: "debug" }, stream);
const events = new EventLog({ log, isDatabaseAvailable: async () => true });
const app = new Koa();
app.on("error", createKoaErrorListener(events, log));
app.use(assignRequestId());
app.use(errorBoundary(createFailureAnswer(events, "https://keys.example.com")));
app.use((ctx) => {
  ctx.status = 200;
  if (ctx.path === "/unserializable") {
    ctx.body = {
      toJSON() {
        throw new Error("a bug after the middleware");
      },
    };
    return;
  }
  if (ctx.path === "/endless") {
    ctx.body = Readable.from(
      (async function* () {
        for (;;) yield Buffer.alloc(64 * 1024);
      })(),
    );
    return;
  }
  if (ctx.path === "/unanswerable")
    throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: "GET\nHEAD" } });
  if (ctx.path === "/begun") {
    ctx.respond = false;
    ctx.res.writeHead(200, { "Content-Length": "100" });
    ctx.res.write("begun");
  }
  const bug = new Error("a bug");
  if (ctx.path === "/unspeakable") {
    Object.defineProperty(bug, "stack", {
      get() {
        throw new Error("It cannot be logged.");
      },
    });
  }
  throw bug;
});
const server = createServer(app.callback());
let baseUrl: string;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  events.close();
  server.closeAllConnections();
  server.close();
});

test("a bug is logged and gets 500, whatever status was set before it", async () => {
  const answer = await fetch(`${baseUrl}/`);
  expect([answer.status, answer.statusText]).toEqual([500, "Internal Server Error"]);
  expect(await answer.json()).toMatchObject({ error: { code: "INTERNAL_SERVER_ERROR" } });
  expect(logged).toContain("a bug");
});

test("closes the connection and logs the error if a response fails after its start", async () => {
  logged = "";
  const answer = await fetch(`${baseUrl}/begun`);
  await expect(answer.text()).rejects.toThrow();
  // The same kind as the bug before, so it is only counted.
  events.close();
  expect(JSON.parse(logged)).toMatchObject({ level: 50, error: "Error", count: 1 });
});

test("handles and logs an error whose stack can't be read", async () => {
  logged = "";
  expect((await fetch(`${baseUrl}/unspeakable`)).status).toBe(500);
  expect(JSON.parse(logged)).toMatchObject({ level: 50, count: 1, error: "Error" });
});

test("a bug while an error response is written ends the connection and is logged as an error", async () => {
  logged = "";
  await expect(fetch(`${baseUrl}/unanswerable`)).rejects.toThrow();
  expect(JSON.parse(logged)).toMatchObject({
    level: 50,
    msg: "an error response could not be written",
    code: "ERR_INVALID_CHAR",
  });
});

test("a bug while a response is written is logged as an error", async () => {
  logged = "";
  expect((await fetch(`${baseUrl}/unserializable`)).status).toBe(500);
  expect(JSON.parse(logged)).toMatchObject({
    level: 50,
    msg: "a response could not be written",
    err: { message: "a bug after the middleware" },
  });
});

test("a client that leaves before its response is complete is logged for debugging only", async () => {
  logged = "";
  const leaving = new AbortController();
  const answer = await fetch(`${baseUrl}/endless`, { signal: leaving.signal });
  await answer.body?.getReader().read();
  leaving.abort();
  await expect.poll(() => logged).toContain("a client disconnected");
  const levels = logged
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).level);
  expect(new Set(levels)).toEqual(new Set([20]));
});
