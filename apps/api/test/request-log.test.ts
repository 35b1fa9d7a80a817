import { once } from "node:events";
import { connect } from "node:net";
import { encodeId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineEndpoint } from "../src/http/endpoint.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";

type Key = Awaited<ReturnType<TestApp["addKey"]>>;
type Line = Readonly<Record<string, unknown>>;

const page = "https://app.example.com";

const overloaded = defineEndpoint({
  operationId: "overloaded",
  summary: "Is overloaded",
  description: "Always responds with 503.",
  method: "GET",
  path: "/overloaded",
  access: "key",
  request: {},
  response: { status: 200, description: "The result.", schema: z.object({}) },
  errors: [],
  handle: () => {
    throw new AppError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 });
  },
});

const broken = defineEndpoint({
  operationId: "broken",
  summary: "Is broken",
  description: "Always answers 500.",
  method: "GET",
  path: "/broken",
  access: "key",
  request: { query: z.strictObject({ text: z.string() }) },
  response: { status: 200, description: "The result.", schema: z.object({}) },
  errors: [],
  handle: ({ query: { text } }) => {
    throw new Error(text);
  },
});

let app: TestApp;
let key: Key;
beforeAll(async () => {
  app = await startTestApp({
    hasRequestLog: true,
    corsOrigins: [page],
    extraEndpoints: [overloaded, broken],
  });
  key = await app.addKey();
});
afterAll(() => app.close());

const linesOf = (origin: TestApp): readonly Line[] =>
  origin
    .readLog()
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line)
    .filter(({ msg }) => msg === "request");

/** Sends a request and waits for its log line. */
async function send(path: string, init: RequestInit & { readonly secret?: string } = {}) {
  const requestId = crypto.randomUUID();
  const headers = new Headers(init.headers);
  headers.set("X-Request-Id", requestId);
  if (init.secret) headers.set("Authorization", `Bearer ${init.secret}`);
  const response = await fetch(app.baseUrl + path, { ...init, headers });
  const text = await response.text();
  const find = () => linesOf(app).find((line) => line.requestId === requestId);
  await expect.poll(find).toBeDefined();
  return { status: response.status, text, line: find() };
}

test("logs method, route, status, duration, key and request ID, and nothing else", async () => {
  const { line } = await send("/open/me", { secret: key.secret });
  expect(line).toEqual({
    level: 30,
    time: expect.any(Number),
    pid: expect.any(Number),
    hostname: expect.any(String),
    msg: "request",
    method: "GET",
    route: "/open/me",
    status: 200,
    durationMs: expect.any(Number),
    keyId: encodeId("key", key.id),
    requestId: expect.any(String),
  });
  expect(line?.durationMs).toBeGreaterThan(0);
});

test("logs the request ID of the response, even if the client sends none", async () => {
  for (const path of ["/open/me", "/open/nowhere", "/trpc/session.current"]) {
    const response = await fetch(app.baseUrl + path);
    const requestId = response.headers.get("x-request-id");
    await expect.poll(() => linesOf(app).map((line) => line.requestId)).toContain(requestId);
  }
});

test("logs the path template as the route, and the workspace of an admitted request", async () => {
  const { text } = await send("/open/workspaces", { secret: key.secret });
  const { id } = JSON.parse(text).data[0];
  const { line } = await send(`/open/workspaces/${id}/members?limit=1`, { secret: key.secret });
  expect(line).toMatchObject({
    route: "/open/workspaces/:workspaceId/members",
    status: 200,
    workspaceId: id,
  });
});

describe("logs a rejected request", () => {
  const json = { "Content-Type": "application/json" };
  const post = (body: string) => ({ method: "POST", headers: json, body });

  async function addKeyWith(change: ReturnType<typeof sql>): Promise<Key> {
    const made = await app.addKey();
    await sql`update api_keys set ${change} where id = ${made.id}`.execute(app.owner);
    return made;
  }

  test("without a key", async () => {
    const { line } = await send("/open/api-keys/key_1");
    expect(line).toMatchObject({ route: "/open/api-keys/:keyId", status: 401, keyId: null });
  });

  test("with a key that doesn't exist", async () => {
    const { line } = await send("/open/me", { secret: "typo" });
    expect(line).toMatchObject({ route: "/open/me", status: 403, keyId: null });
  });

  test("with a disabled key", async () => {
    const disabled = await addKeyWith(sql`disabled_at = now()`);
    const { line } = await send("/open/me", { secret: disabled.secret });
    expect(line).toMatchObject({ status: 403, keyId: encodeId("key", disabled.id) });
    expect(line).not.toHaveProperty("workspaceId");
  });

  test("beyond the rate limit of its key", async () => {
    const limited = await addKeyWith(sql`limit_quota = 1, limit_window_seconds = 3600`);
    await send("/open/me", { secret: limited.secret });
    const { line } = await send("/open/me", { secret: limited.secret });
    expect(line).toMatchObject({ route: "/open/me", status: 429, keyId: encodeId("key", limited.id) });
  });

  test("to a path that doesn't exist", async () => {
    const { line } = await send("/open/nowhere", { secret: key.secret });
    expect(line).toMatchObject({ route: null, status: 404, keyId: encodeId("key", key.id) });
  });

  test("with a method that isn't supported", async () => {
    const { line } = await send("/open/me", { secret: key.secret, method: "DELETE" });
    expect(line).toMatchObject({ method: "DELETE", route: null, status: 405 });
  });

  test("with a body that is too large or isn't valid", async () => {
    const large = await send("/open/workspaces", { secret: key.secret, ...post("x".repeat(200_000)) });
    expect(large.line).toMatchObject({ method: "POST", route: "/open/workspaces", status: 413 });
    const { line } = await send("/open/workspaces", { secret: key.secret, ...post("null") });
    expect(line).toMatchObject({ route: "/open/workspaces", status: 400 });
  });

  test("on an overloaded node", async () => {
    const { line } = await send("/open/overloaded", { secret: key.secret });
    expect(line).toMatchObject({ route: "/open/overloaded", status: 503, keyId: encodeId("key", key.id) });
  });

  test.each([
    ["from another site", "session.signOut", { ...post("{}"), headers: { ...json, Origin: page } }, 403],
    ["of another type", "session.signOut", { method: "POST", body: "a" }, 415],
    ["with a large body", "session.signIn", post("x".repeat(200_000)), 413],
    ["without a session", "apiKeys.list?input={}", {}, 401],
    ["with a wrong password", "session.signIn", post('{"email":"a@example.com","password":"wrong"}'), 401],
  ])("to tRPC %s", async (_what, call, init, status) => {
    const { line } = await send(`/trpc/${call}`, init);
    expect(line).toMatchObject({ route: `/trpc/${call.split("?")[0]}`, status, keyId: null });
  });
});

test("logs a batch in one line, with ? in place of procedures that don't exist", async () => {
  const { email } = await app.addUser();
  const input = encodeURIComponent(JSON.stringify({ 0: { email, password } }));
  const { line } = await send(`/trpc/session.current,instance.get,${key.secret}?batch=1&input=${input}`);
  expect(line).toMatchObject({ method: "GET", status: 207 });
  expect(line?.route).toMatch(/^\/trpc\/session\.current,(instance\.get|\?),\?$/);
  const many = await send(`/trpc/${Array(100).fill("session.current").join(",")}?batch=1`);
  expect(many.line).toMatchObject({
    status: 400,
    route: `/trpc/${Array(10).fill("session.current").join(",")}`,
  });
});

test("logs a preflight request, and a request whose target is an absolute URL", async () => {
  const preflight = await send("/open/me", {
    method: "OPTIONS",
    headers: { Origin: page, "Access-Control-Request-Method": "GET" },
  });
  expect(preflight.line).toMatchObject({ method: "OPTIONS", route: null, status: 204 });
  const { host, hostname, port } = new URL(app.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.end(`GET ${app.baseUrl}/open/me HTTP/1.1\r\nHost: ${host}\r\nX-Request-Id: whole-url\r\n\r\n`);
  await expect
    .poll(() => linesOf(app).find(({ requestId }) => requestId === "whole-url"))
    .toMatchObject({ route: "/open/me", status: 401 });
  socket.destroy();
});

const forged = '{"level":60,"msg":"forged"}';

/** Sends bytes as they are, and reads until the server closes the connection. */
async function sendBytes(request: string): Promise<void> {
  const { hostname, port } = new URL(app.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined); // The server may reset the connection.
  socket.end(request);
  socket.resume();
  await once(socket, "close");
}

test("CR and LF in a header, a path or a query can't start a new line", async () => {
  const { host } = new URL(app.baseUrl);
  const breaks = ["\r\n", "\n", "\r", "\r\n ", "\u0085", "%0d%0a", "%0A", "\\r\\n"];
  for (const lineBreak of breaks) {
    const text = `a${lineBreak}${forged}`;
    for (const path of [`/open/${text}`, `/trpc/${text}`, `/open/me?${text}`, `/${text}`])
      await sendBytes(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    for (const name of ["X-Request-Id", "User-Agent", "Authorization", "Cookie", "Host", "X-Forwarded-For"])
      for (const path of ["/open/me", "/trpc/session.current"])
        await sendBytes(
          `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${name}: ${text}\r\nConnection: close\r\n\r\n`,
        );
  }
  // The message of an error, which the log contains.
  const { status } = await send(`/open/broken?text=${encodeURIComponent(`a\r\n${forged}\r${forged}`)}`, {
    secret: key.secret,
  });
  expect(status).toBe(500);
  const log = app.readLog();
  expect(log).toContain(JSON.stringify(`a\r\n${forged}`).slice(1, -1));
  expect(log).not.toContain("\r");
  const lines = log.split("\n").slice(0, -1);
  for (const line of lines) expect(JSON.parse(line)).not.toMatchObject({ msg: "forged" });
});

/** Targets that Koa interprets as paths of the two APIs. */
const oddTargets = [
  ["/open\\me#x", "/open/me"],
  ["ws://keys.example.com/open/me", "/open/me"],
  ["/open/me#x", null],
  ["/trpc\\session.current#x", "/trpc/session.current"],
  ["ftp://keys.example.com/trpc/session.current", "/trpc/session.current"],
] as const;

test.each(oddTargets)("logs a request for the target %s", async (target, route) => {
  const { host, hostname, port } = new URL(app.baseUrl);
  const requestId = crypto.randomUUID();
  const socket = connect(Number(port), hostname);
  socket.end(
    `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nX-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n`,
  );
  const [head] = await once(socket, "data");
  await expect.poll(() => linesOf(app).find((line) => line.requestId === requestId)).toBeDefined();
  const status = Number(String(head).slice(9, 12));
  expect(linesOf(app).find((line) => line.requestId === requestId)).toMatchObject({ route, status });
  // 404 would mean that neither of the two APIs handled the request.
  expect(status).not.toBe(404);
});

test.each(["/open\\me#x", "ws://keys.example.com/open/me", "http://keys.example.com/openapi.json"])(
  "sends CORS headers for the target %s",
  async (target) => {
    const { host, hostname, port } = new URL(app.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.end(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${page}\r\nConnection: close\r\n\r\n`);
    const [head] = await once(socket, "data");
    expect(String(head).toLowerCase()).toContain(`access-control-allow-origin: ${page}`);
  },
);

test.each(["ws:", "*", "foo:bar", "http://[", "#", "?"])(
  "responds with 4xx to the target %s, which has no path",
  async (target) => {
    const { host, hostname, port } = new URL(app.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.end(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    const [head] = await once(socket, "data");
    expect(String(head)).toMatch(/^HTTP\/1\.1 4\d\d /);
  },
);

test("logs no status if the client disconnects before the response", async () => {
  const { host, hostname, port } = new URL(app.baseUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.write(
    `POST /open/workspaces HTTP/1.1\r\nHost: ${host}\r\nX-Request-Id: left\r\nAuthorization: Bearer ${key.secret}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
  );
  // When the server has answered another request, it has read these headers.
  await send("/open/me", { secret: key.secret });
  socket.resetAndDestroy();
  await expect
    .poll(() => linesOf(app).find(({ requestId }) => requestId === "left"))
    .toMatchObject({ method: "POST", status: null });
});

test("logs no secret from a path, query, header or body, and no User-Agent", async () => {
  const { secret } = key;
  const encoded = [...secret].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join("");
  const headers = { "User-Agent": "a curious agent", "Idempotency-Key": secret };
  for (const part of [secret, encoded]) {
    await send(`/open/api-keys/${part}`, { secret, headers });
    await send(`/open/${part}?key=${part}`, { headers });
    await send(`/trpc/${part}?input=${part}`, { headers });
    await send(`/open/workspaces/${part}/members/${part}?cursor=${part}`, { secret, headers });
  }
  const named = await fetch(`${app.baseUrl}/open/me`, { headers: { "X-Request-Id": secret } });
  const requestId = named.headers.get("x-request-id");
  await expect.poll(() => linesOf(app).map((line) => line.requestId)).toContain(requestId);
  for (const text of [secret, encoded, "curious", password]) expect(app.readLog()).not.toContain(text);
});

test("logs only requests to the two APIs, and none if the request log is off", async () => {
  const before = linesOf(app).length;
  for (const path of ["/healthz", "/readyz", "/sign-in", "/openapi.json"]) await fetch(app.baseUrl + path);
  await send("/open/me", { secret: key.secret });
  expect(linesOf(app)).toHaveLength(before + 1);
  const quiet = await startTestApp();
  await fetch(`${quiet.baseUrl}/open/me`);
  await quiet.close();
  expect(quiet.readLog()).toBe("");
});
