import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { deleteApiKey } from "@latchkey/db/api-key-changes";
import { disableUser } from "@latchkey/db/users";
import { AppError } from "@latchkey/errors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineEndpoint } from "../src/http/endpoint.ts";
import { sendRaw, startTestApp, type TestApp } from "./test-app.ts";

/** An endpoint with a body, and ways to fail: the product has none yet that can show each row of the contract. */
const trial = defineEndpoint({
  method: "POST",
  path: "/trial",
  operationId: "trial",
  summary: "Trial",
  description: "Fails as it is told.",
  access: "key",
  request: {
    body: z.strictObject({ fail: z.enum(["bug", "conflict", "hang", "no"]), note: z.string().optional() }),
  },
  response: { status: 201, schema: z.object({ ok: z.boolean() }) },
  errors: ["CONFLICT"],
  handle: async ({ body }) => {
    if (body.fail === "bug") throw new TypeError("the password is swordfish");
    if (body.fail === "hang") await new Promise(() => undefined);
    if (body.fail === "conflict") throw new AppError("CONFLICT");
    return { ok: true, leaked: "not declared" } as { ok: boolean };
  },
});

let app: TestApp;
let good: string;
let deleted: string;
let disabled: string;

beforeAll(async () => {
  app = await startTestApp({ eventLog: { firstIntervalMs: 20, maxIntervalMs: 20 }, more: [trial] });
  good = (await app.addKey()).secret;
  const doomed = await app.addKey();
  await app.instance.db.transaction().execute((trx) => deleteApiKey(trx, doomed));
  deleted = doomed.secret;
  const leaver = await app.addKey();
  await app.instance.db.transaction().execute((trx) => disableUser(trx, leaver.userId));
  disabled = leaver.secret;
});
afterAll(() => app.close());

const unauthorized = [401, "UNAUTHORIZED", "Authorization not provided"] as const;
const forbidden = [403, "FORBIDDEN", "Insufficient access"] as const;
const unknown = `lk_${"0".repeat(36)}`;

/** The key of each row, made when it is needed: the rows stand before the keys exist. */
const values = {
  "no header": () => undefined,
  "an empty value": () => "",
  "the scheme alone": () => "Bearer",
  "the scheme and a space": () => "Bearer ",
  "another scheme": () => `Basic ${good}`,
  "no scheme": () => good,
  "two spaces": () => `Bearer  ${good}`,
  "a tab": () => `Bearer\t${good}`,
  "two tokens": () => `Bearer ${good} ${good}`,
  "a comma behind": () => `Bearer ${good},`,
  "a character outside the form": () => `Bearer ${good}!`,
  "padding in the middle": () => "Bearer abc=def",
  "a good key": () => `Bearer ${good}`,
  "a good key and lower case": () => `bearer ${good}`,
  "a good key and capitals": () => `BEARER ${good}`,
  "a deleted key": () => `Bearer ${deleted}`,
  "a disabled user's key": () => `Bearer ${disabled}`,
  "an unknown key": () => `Bearer ${unknown}`,
  "a wrong checksum": () => `Bearer ${good.slice(0, -1)}${good.endsWith("0") ? "1" : "0"}`,
  "a token that is no key": () => "Bearer abc",
  "one character": () => "Bearer x",
  "another system's prefix": () => "Bearer sk_live_4eC39HqLyjWDarjtT1zdp7dc",
  "a padded token": () => "Bearer YWJj==",
  "a very long token": () => `Bearer ${"a".repeat(8_000)}`,
} as const;

const authorization: readonly (readonly [keyof typeof values, readonly [number, string, string] | 200])[] = [
  ["no header", unauthorized],
  ["an empty value", unauthorized],
  ["the scheme alone", unauthorized],
  ["the scheme and a space", unauthorized],
  ["another scheme", unauthorized],
  ["no scheme", unauthorized],
  ["two spaces", unauthorized],
  ["a tab", unauthorized],
  ["two tokens", unauthorized],
  ["a comma behind", unauthorized],
  ["a character outside the form", unauthorized],
  ["padding in the middle", unauthorized],
  ["a good key", 200],
  ["a good key and lower case", 200],
  ["a good key and capitals", 200],
  ["a deleted key", forbidden],
  ["a disabled user's key", forbidden],
  ["an unknown key", forbidden],
  ["a wrong checksum", forbidden],
  ["a token that is no key", forbidden],
  ["one character", forbidden],
  ["another system's prefix", forbidden],
  ["a padded token", forbidden],
  ["a very long token", forbidden],
];

/** Requests that would each be answered in their own way with a good key. */
const requests: readonly (readonly [string, string, RequestInit])[] = [
  ["GET an endpoint", "/open/global/config", {}],
  ["GET the root", "/open", {}],
  ["GET an unknown path", "/open/nowhere", {}],
  ["a wrong method", "/open/global/config", { method: "DELETE" }],
  ["bad JSON", "/open/trial", { method: "POST", body: "{", headers: { "Content-Type": "application/json" } }],
  ["a large body", "/open/trial", { method: "POST", body: "a".repeat(300_000) }],
];

async function call(path: string, value: string | undefined, init: RequestInit = {}) {
  const headers = {
    ...(init.headers as Record<string, string>),
    ...(value === undefined ? {} : { Authorization: value }),
  };
  const response = await fetch(app.baseUrl + path, { ...init, headers });
  const text = await response.text();
  return { response, text, body: text ? JSON.parse(text) : undefined };
}

function expectError(
  answer: Awaited<ReturnType<typeof call>>,
  [status, code, message]: readonly [number, string, string?],
): void {
  expect(answer.response.status).toBe(status);
  expect(answer.body).toEqual({
    error: expect.objectContaining({ code, message: message ?? expect.any(String) }),
  });
  expect(answer.body.error.requestId).toBe(answer.response.headers.get("x-request-id"));
  expect(answer.response.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(answer.response.headers.get("cache-control")).toBe("no-store");
}

describe("authorization", () => {
  test.each(authorization)("with %s", async (name, expected) => {
    const answer = await call("/open/global/config", values[name]());
    if (expected === 200) expect(answer.response.status).toBe(200);
    else expectError(answer, expected);
    expect(answer.response.headers.get("www-authenticate")).toBe(expected === unauthorized ? "Bearer" : null);
  });

  test.each(requests)("comes before everything else: %s", async (_what, path, init) => {
    expectError(await call(path, undefined, init), unauthorized);
    expectError(await call(path, `Bearer ${deleted}`, init), forbidden);
  });

  test("every refused key gets the same answer, to the byte but for the request id", async () => {
    const answers = await Promise.all(
      [deleted, disabled, unknown, "abc"].map(async (key) => {
        const { response, text } = await call("/open/me", `Bearer ${key}`);
        const headers = [...response.headers].filter(([name]) => name !== "x-request-id" && name !== "date");
        return JSON.stringify([response.status, headers, text.replace(/"requestId":"[^"]+"/, "")]);
      }),
    );
    expect(new Set(answers).size).toBe(1);
  });

  test("two Authorization headers are none", async () => {
    const head = `GET /open/global/config HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`;
    const line = `Authorization: Bearer ${good}\r\n`;
    expect((await sendRaw(app.baseUrl, `${head}${line}\r\n`)).status).toBe(200);
    expect((await sendRaw(app.baseUrl, `${head}${line}${line}\r\n`)).status).toBe(401);
    expect((await sendRaw(app.baseUrl, `${head}${line}authorization: Basic eDp5\r\n\r\n`)).status).toBe(401);
  });

  test("a key in the query, the body or a cookie is no key", async () => {
    expectError(
      await call(`/open/global/config?api_key=${good}&access_token=${good}`, undefined),
      unauthorized,
    );
    expectError(
      await call("/open/global/config", undefined, { headers: { Cookie: `latchkey-session=${good}` } }),
      unauthorized,
    );
    const form = { method: "POST", body: new URLSearchParams({ access_token: good }) };
    expectError(await call("/open/trial", undefined, form), unauthorized);
  });

  test("what needs no key lives elsewhere", async () => {
    for (const path of ["/openapi.json", "/docs", "/healthz", "/readyz"]) {
      expect((await fetch(app.baseUrl + path)).status).toBe(200);
    }
    for (const path of ["/openapi.json", "/docs", "/healthz", "/readyz"]) {
      expect((await fetch(app.baseUrl + path, { method: "POST" })).status).toBe(405);
    }
  });
});

describe("with a good key", () => {
  const json = { "Content-Type": "application/json" };
  const rows: readonly (readonly [string, string, RequestInit, readonly [number, string, string?]])[] = [
    ["an unknown path", "/open/nowhere", {}, [404, "NOT_FOUND"]],
    ["the root", "/open", {}, [404, "NOT_FOUND"]],
    ["a path in other letter case", "/open/Global/Config", {}, [404, "NOT_FOUND"]],
    ["a slash too many", "/open/global/config/", {}, [404, "NOT_FOUND"]],
    ["an encoded slash", "/open/global%2fconfig", {}, [404, "NOT_FOUND"]],
    ["an encoding that is none", "/open/%zz", {}, [404, "NOT_FOUND"]],
    ["a wrong method", "/open/global/config", { method: "POST" }, [405, "METHOD_NOT_SUPPORTED"]],
    ["OPTIONS", "/open/global/config", { method: "OPTIONS" }, [405, "METHOD_NOT_SUPPORTED"]],
    ["a method nobody knows", "/open/global/config", { method: "PURGE" }, [405, "METHOD_NOT_SUPPORTED"]],
    ["an unknown query member", "/open/global/config?verbose=1", {}, [400, "BAD_REQUEST"]],
    [
      "bad JSON",
      "/open/trial",
      { method: "POST", body: "{", headers: json },
      [400, "BAD_REQUEST", "The body is not valid JSON"],
    ],
    [
      "JSON that is no object",
      "/open/trial",
      { method: "POST", body: "3", headers: json },
      [400, "BAD_REQUEST"],
    ],
    [
      "a member that is missing",
      "/open/trial",
      { method: "POST", body: "{}", headers: json },
      [400, "BAD_REQUEST"],
    ],
    ["no body where one is needed", "/open/trial", { method: "POST", headers: json }, [400, "BAD_REQUEST"]],
    [
      "an unknown member",
      "/open/trial",
      { method: "POST", body: '{"fail":"no","role":"owner"}', headers: json },
      [400, "BAD_REQUEST"],
    ],
    [
      "a body that is no JSON",
      "/open/trial",
      { method: "POST", body: new URLSearchParams({ fail: "no" }) },
      [415, "UNSUPPORTED_MEDIA_TYPE"],
    ],
    [
      "a packing nobody knows",
      "/open/trial",
      { method: "POST", body: "x", headers: { ...json, "Content-Encoding": "zip" } },
      [415, "UNSUPPORTED_MEDIA_TYPE"],
    ],
    [
      "too large a body",
      "/open/trial",
      { method: "POST", body: `"${"a".repeat(200_000)}"`, headers: json },
      [413, "PAYLOAD_TOO_LARGE"],
    ],
    [
      "too large a body on a GET endpoint's path",
      "/open/me",
      { method: "POST", body: "a".repeat(200_000) },
      [413, "PAYLOAD_TOO_LARGE"],
    ],
    [
      "a failure that a handler declares",
      "/open/trial",
      { method: "POST", body: '{"fail":"conflict"}', headers: json },
      [409, "CONFLICT"],
    ],
    [
      "a bug in a handler",
      "/open/trial",
      { method: "POST", body: '{"fail":"bug"}', headers: json },
      [500, "INTERNAL_SERVER_ERROR", "Something went wrong on our side"],
    ],
  ];
  test.each(rows)("%s", async (_what, path, init, expected) => {
    expectError(await call(path, `Bearer ${good}`, init), expected);
  });

  test("405 says what would do", async () => {
    const { response } = await call("/open/global/config", `Bearer ${good}`, { method: "PUT" });
    expect(response.headers.get("allow")).toBe("GET, HEAD");
  });

  test("400 names each member that is off", async () => {
    const body = JSON.stringify({ fail: "maybe", role: "owner", userId: "me" });
    const answer = await call("/open/trial", `Bearer ${good}`, { method: "POST", body, headers: json });
    expect(answer.body.error.issues.map((issue: { path: string }) => issue.path).toSorted()).toEqual([
      "fail",
      "role",
      "userId",
    ]);
  });

  test("a bug is logged with the request id and told to nobody", async () => {
    const answer = await call("/open/trial", `Bearer ${good}`, {
      method: "POST",
      body: '{"fail":"bug"}',
      headers: json,
    });
    expect(answer.text).not.toContain("swordfish");
    expect(answer.text).not.toContain("TypeError");
    // Only the first bug of a kind is logged with its message; later ones are counted.
    await expect.poll(() => app.logged()).toContain(answer.body.error.requestId);
    expect(app.logged()).toContain("swordfish");
    expect(app.logged()).not.toContain(good);
  });

  test("an answer has what its endpoint declares and nothing else", async () => {
    const answer = await call("/open/trial", `Bearer ${good}`, {
      method: "POST",
      body: '{"fail":"no"}',
      headers: json,
    });
    expect([answer.response.status, answer.body]).toEqual([201, { ok: true }]);
  });

  test("a body sent in pieces is bounded too", async () => {
    const body = new ReadableStream({
      start(controller) {
        for (let count = 0; count < 40; count += 1)
          controller.enqueue(new TextEncoder().encode("a".repeat(10_000)));
        controller.close();
      },
    });
    const init = { method: "POST", body, headers: json, duplex: "half" } as RequestInit;
    expectError(await call("/open/trial", `Bearer ${good}`, init), [413, "PAYLOAD_TOO_LARGE"]);
  });

  test("a caller who sends slowly is waited for, and not told that the service is away", async () => {
    const pieces = ['{"fa', 'il":', '"no"', "}"];
    const body = new ReadableStream({
      async pull(controller) {
        await delay(700);
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(piece));
      },
    });
    const init = { method: "POST", body, headers: json, duplex: "half" } as RequestInit;
    expect((await call("/open/trial", `Bearer ${good}`, init)).response.status).toBe(201);
  });

  test("a handler that takes too long is given up within two seconds", async () => {
    const startedAt = performance.now();
    const init = { method: "POST", body: '{"fail":"hang"}', headers: json };
    const answer = await call("/open/trial", `Bearer ${good}`, init);
    expectError(answer, [503, "SERVICE_UNAVAILABLE"]);
    expect(answer.response.headers.get("retry-after")).toBe("1");
    expect(performance.now() - startedAt).toBeLessThan(2_100);
  });

  test("a small body that unpacks to a large one is bounded", async () => {
    const bomb = await new Response(
      new Blob([`{"fail":"no","note":"${"a".repeat(20_000_000)}"}`])
        .stream()
        .pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer();
    expect(bomb.byteLength).toBeLessThan(100_000);
    const init = { method: "POST", body: bomb, headers: { ...json, "Content-Encoding": "gzip" } };
    expectError(await call("/open/trial", `Bearer ${good}`, init), [413, "PAYLOAD_TOO_LARGE"]);
  });

  test("a JSON content type on a request without a body is fine", async () => {
    expect((await call("/open/global/config", `Bearer ${good}`, { headers: json })).response.status).toBe(
      200,
    );
  });

  test("HEAD answers as GET does, without the body", async () => {
    const { response, text } = await call("/open/global/config", `Bearer ${good}`, { method: "HEAD" });
    expect([response.status, text]).toEqual([200, ""]);
  });

  test("every admitted request is a use, whatever status follows; a refused one is none", async () => {
    const { secret } = await app.addKey();
    await call("/open/global/config", `Bearer ${secret}`);
    await call("/open/nowhere", `Bearer ${secret}`);
    await call("/open/global/config", `Bearer ${secret}`, { method: "POST" });
    await call("/open/trial", `Bearer ${secret}`, { method: "POST", body: '{"fail":"bug"}', headers: json });
    await call("/open/me", `Basic ${secret}`);
    const { body } = await call("/open/me", `Bearer ${secret}`);
    expect(body.key.usageCount).toBe(5);
  });
});

describe("headers", () => {
  test("a well-formed request id comes back, any other is replaced", async () => {
    const id = randomUUID();
    const echoed = await call("/open/me", `Bearer ${good}`, { headers: { "X-Request-Id": id } });
    expect(echoed.response.headers.get("x-request-id")).toBe(id);
    for (const bad of ["a b", "x".repeat(129), "é", 'a"b']) {
      const replaced = await call("/open/me", `Bearer ${good}`, { headers: { "X-Request-Id": bad } });
      expect(replaced.response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  test("no answer under /open may be kept or read by another site", async () => {
    const { response } = await call("/open/me", `Bearer ${good}`, {
      headers: { Origin: "https://elsewhere.example" },
    });
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });
});

/** Settles when the connection is gone, whether it broke or not. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

describe("requests that break HTTP itself", () => {
  const shape = {
    error: {
      code: expect.any(String),
      message: expect.any(String),
      requestId: expect.any(String),
      documentationUrl: expect.stringContaining("/docs/errors#"),
    },
  };
  const rows: readonly (readonly [string, string, number])[] = [
    ["no HTTP at all", "hello\r\n\r\n", 400],
    ["a header that is none", "GET /open/me HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n", 400],
    ["headers of 1 MB", `GET /open/me HTTP/1.1\r\nHost: x\r\nX-Long: ${"a".repeat(1_000_000)}\r\n\r\n`, 431],
    [
      "two lengths",
      "POST /open/me HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
      400,
    ],
    [
      "a length and pieces",
      "POST /open/me HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["no host", "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    ["two hosts", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n", 400],
    [
      "two hosts, and no key",
      "GET /open/me HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n",
      401,
    ],
    [
      "a target that is no address",
      "GET http://[/open/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
      400,
    ],
    ["CONNECT", "CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n", 405],
    [
      "an expectation nobody knows",
      "GET /open/me HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\nConnection: close\r\n\r\n",
      401,
    ],
    [
      "a body whose pieces are none",
      "POST /open/me HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      400,
    ],
    ["TRACE", "TRACE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405],
  ];
  test.each(rows)("%s", async (_what, request, status) => {
    const answer = await sendRaw(app.baseUrl, request);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body)).toEqual(shape);
    expect(answer.head.toLowerCase()).toContain("content-type: application/json");
  });

  test.each([
    ["no key", () => undefined, 401],
    ["a deleted key", () => deleted, 403],
    ["a good key", () => good, 200],
  ])("a target that is a whole address, as for a proxy, is its path: %s", async (_what, key, status) => {
    const token = key();
    const authorization = token ? `Authorization: Bearer ${token}\r\n` : "";
    const head = `Host: elsewhere.example\r\n${authorization}Connection: close`;
    const target = "http://elsewhere.example/open/global/config";
    const answer = await sendRaw(app.baseUrl, `GET ${target} HTTP/1.1\r\n${head}\r\n\r\n`);
    expect(answer.status).toBe(status);
  });

  test.each(["//u@h\\open/me#", "//u@h/open/me#", "/open/me#"])(
    "%s has no way past admission",
    async (target) => {
      const head = "Host: a\r\nHost: b\r\nConnection: close";
      for (const method of ["GET", "POST"]) {
        const answer = await sendRaw(app.baseUrl, `${method} ${target} HTTP/1.1\r\n${head}\r\n\r\n`);
        expect(answer.status, `${method} without a key`).toBe(401);
      }
    },
  );

  test("with a good key, two hosts are refused", async () => {
    const head = `Host: a\r\nHost: b\r\nAuthorization: Bearer ${good}\r\nConnection: close`;
    const answer = await sendRaw(app.baseUrl, `GET /open/me HTTP/1.1\r\n${head}\r\n\r\n`);
    expect(answer.status).toBe(400);
  });

  test("a CONNECT that is broken off ends nothing but its own connection", async () => {
    for (let round = 0; round < 10; round += 1) {
      const socket = connect(Number(new URL(app.baseUrl).port), "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write("CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n");
      if (round % 2 === 0) await once(socket, "data");
      socket.resetAndDestroy();
      await once(socket, "close");
    }
    const answer = await fetch(`${app.baseUrl}/healthz`);
    expect(answer.status).toBe(200);
  });

  test.each(["garbage", "CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example"])(
    "never take the place of the answer to an earlier request on the connection: %s",
    async (second) => {
      const first = `GET /open/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${good}\r\n\r\n`;
      const answer = await sendRaw(app.baseUrl, `${first}${second}\r\n\r\n`);
      expect([answer.status, answer.body]).toEqual([200, expect.stringContaining('"usageCount"')]);
    },
  );

  test("a client that asks for much more than it reads is let go, and others are served", async () => {
    const requests = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200);
    const { hostname, port } = new URL(app.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    const ended = closed(socket);
    socket.pause();
    socket.write(requests);
    socket.resume();
    await ended;
    expect((await call("/open/me", `Bearer ${good}`)).response.status).toBe(200);
  });

  test.each([
    ["/healthz", "POST", {}],
    ["/trpc/session.signIn", "POST", { "Content-Type": "application/json" }],
    ["/open/me", "GET", { Authorization: "good" }],
    ["/sign-in", "GET", {}],
  ])(
    "an endless body to %s ends with the answer, which closes the connection",
    async (path, method, headers) => {
      const { hostname, port } = new URL(app.baseUrl);
      const socket = connect(Number(port), hostname);
      socket.on("error", () => undefined);
      const lines = Object.entries(headers).map(
        ([name, value]) => `${name}: ${value === "good" ? `Bearer ${good}` : value}\r\n`,
      );
      socket.write(
        `${method} ${path} HTTP/1.1\r\nHost: x\r\n${lines.join("")}Transfer-Encoding: chunked\r\n\r\n`,
      );
      const piece = `${(65_536).toString(16)}\r\n${"a".repeat(65_536)}\r\n`;
      let sent = 0;
      const pump = (): void => {
        while (!socket.destroyed && sent < 1_000 && socket.write(piece)) sent += 1;
      };
      socket.on("drain", pump);
      pump();
      socket.resume();
      await closed(socket);
      expect(sent).toBeLessThan(1_000);
    },
  );
});
