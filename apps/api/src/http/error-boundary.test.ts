import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import Koa from "koa";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFailureAnswer, errorBoundary } from "./error-boundary.ts";
import { nameRequest } from "./request-id.ts";

let logged = "";
const stream = new Writable({
  write(chunk, _encoding, done) {
    logged += String(chunk);
    done();
  },
});

const app = new Koa();
app.use(nameRequest());
app.use(errorBoundary(createFailureAnswer(pino(stream), "https://keys.example.com")));
app.use((ctx) => {
  ctx.status = 200;
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
  server.closeAllConnections();
  server.close();
});

test("a bug is logged and answered as such, whatever status was set before it", async () => {
  const answer = await fetch(`${baseUrl}/`);
  expect([answer.status, answer.statusText]).toEqual([500, "Internal Server Error"]);
  expect(await answer.json()).toMatchObject({ error: { code: "INTERNAL_SERVER_ERROR" } });
  expect(logged).toContain("a bug");
});

test("an answer that fails after it was begun ends with its connection, and is logged", async () => {
  logged = "";
  const answer = await fetch(`${baseUrl}/begun`);
  await expect(answer.text()).rejects.toThrow();
  expect(logged).toContain("a bug");
});

test("a failure that cannot even be logged ends with its connection, and the server goes on", async () => {
  await expect(fetch(`${baseUrl}/unspeakable`)).rejects.toThrow();
  expect((await fetch(`${baseUrl}/`)).status).toBe(500);
});
