import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { deleteApiKey } from "@latchkey/db/api-key-changes";
import { disableUser } from "@latchkey/db/users";
import { AppError } from "@latchkey/errors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineEndpoint } from "../src/http/endpoint.ts";
import { sendRaw, startTestApp, type TestApp } from "./test-app.ts";

/** An endpoint with a body that can fail in the ways of the contract that the product's endpoints can't. */
const trial = defineEndpoint({
  method: "POST",
  path: "/trial",
  operationId: "trial",
  summary: "Trial",
  description: "Fails as requested.",
  access: "key",
  request: {
    body: z.strictObject({ fail: z.enum(["bug", "conflict", "no"]), note: z.string().optional() }),
  },
  response: { status: 201, description: "The result.", schema: z.object({ ok: z.boolean() }) },
  errors: ["CONFLICT"],
  handle: async ({ body }) => {
    if (body.fail === "bug") throw new TypeError("the password is swordfish");
    if (body.fail === "conflict") throw new AppError("CONFLICT");
    return { ok: true, leaked: "not declared" } as { ok: boolean };
  },
});

let app: TestApp;
let validKey: string;
let deletedKey: string;
let disabledKey: string;

beforeAll(async () => {
  app = await startTestApp({ eventLog: { firstIntervalMs: 20, maxIntervalMs: 20 }, extraEndpoints: [trial] });
  validKey = (await app.addKey()).secret;
  const keyToDelete = await app.addKey();
  await app.services.db.transaction().execute((trx) => deleteApiKey(trx, keyToDelete));
  deletedKey = keyToDelete.secret;
  const keyOfDisabledUser = await app.addKey();
  await app.services.db.transaction().execute((trx) => disableUser(trx, keyOfDisabledUser.userId));
  disabledKey = keyOfDisabledUser.secret;
});
afterAll(() => app.close());

const unauthorized = [401, "UNAUTHORIZED", "Authorization not provided"] as const;
const forbidden = [403, "FORBIDDEN", "Insufficient access"] as const;
const unknown = `lk_${"0".repeat(36)}`;

/** The Authorization headers, as functions because the keys are created after the tests are collected. */
const values = {
  "no header": () => undefined,
  "an empty value": () => "",
  "the scheme alone": () => "Bearer",
  "the scheme and a space": () => "Bearer ",
  "another scheme": () => `Basic ${validKey}`,
  "no scheme": () => validKey,
  "two spaces": () => `Bearer  ${validKey}`,
  "a tab": () => `Bearer\t${validKey}`,
  "two tokens": () => `Bearer ${validKey} ${validKey}`,
  "a trailing comma": () => `Bearer ${validKey},`,
  "an invalid character": () => `Bearer ${validKey}!`,
  "padding in the middle": () => "Bearer abc=def",
  "a valid key": () => `Bearer ${validKey}`,
  "a valid key and a lowercase scheme": () => `bearer ${validKey}`,
  "a valid key and an uppercase scheme": () => `BEARER ${validKey}`,
  "a deleted key": () => `Bearer ${deletedKey}`,
  "a disabled user's key": () => `Bearer ${disabledKey}`,
  "an unknown key": () => `Bearer ${unknown}`,
  "a wrong checksum": () => `Bearer ${validKey.slice(0, -1)}${validKey.endsWith("0") ? "1" : "0"}`,
  "a token that isn't a key": () => "Bearer abc",
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
  ["a trailing comma", unauthorized],
  ["an invalid character", unauthorized],
  ["padding in the middle", unauthorized],
  ["a valid key", 200],
  ["a valid key and a lowercase scheme", 200],
  ["a valid key and an uppercase scheme", 200],
  ["a deleted key", forbidden],
  ["a disabled user's key", forbidden],
  ["an unknown key", forbidden],
  ["a wrong checksum", forbidden],
  ["a token that isn't a key", forbidden],
  ["one character", forbidden],
  ["another system's prefix", forbidden],
  ["a padded token", forbidden],
  ["a very long token", forbidden],
];

/** Requests that would each get a different response with a valid key. */
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

  test.each(requests)("is checked before everything else: %s", async (_what, path, init) => {
    expectError(await call(path, undefined, init), unauthorized);
    expectError(await call(path, `Bearer ${deletedKey}`, init), forbidden);
  });

  test("every rejected key gets the same response except for the date and request ID", async () => {
    const answers = await Promise.all(
      [deletedKey, disabledKey, unknown, "abc"].map(async (key) => {
        const { response, text } = await call("/open/me", `Bearer ${key}`);
        const headers = [...response.headers].filter(([name]) => name !== "x-request-id" && name !== "date");
        return JSON.stringify([response.status, headers, text.replace(/"requestId":"[^"]+"/, "")]);
      }),
    );
    expect(new Set(answers).size).toBe(1);
  });

  test("two Authorization headers count as none", async () => {
    const head = `GET /open/global/config HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`;
    const line = `Authorization: Bearer ${validKey}\r\n`;
    expect((await sendRaw(app.baseUrl, `${head}${line}\r\n`)).status).toBe(200);
    expect((await sendRaw(app.baseUrl, `${head}${line}${line}\r\n`)).status).toBe(401);
    expect((await sendRaw(app.baseUrl, `${head}${line}authorization: Basic eDp5\r\n\r\n`)).status).toBe(401);
  });

  test("a key in the query, the body or a cookie is ignored", async () => {
    expectError(
      await call(`/open/global/config?api_key=${validKey}&access_token=${validKey}`, undefined),
      unauthorized,
    );
    expectError(
      await call("/open/global/config", undefined, { headers: { Cookie: `latchkey-session=${validKey}` } }),
      unauthorized,
    );
    const form = { method: "POST", body: new URLSearchParams({ access_token: validKey }) };
    expectError(await call("/open/trial", undefined, form), unauthorized);
  });

  test("public pages outside /open need no key and accept only GET", async () => {
    for (const path of ["/openapi.json", "/docs", "/healthz", "/readyz"]) {
      expect((await fetch(app.baseUrl + path)).status).toBe(200);
    }
    for (const path of ["/openapi.json", "/docs", "/healthz", "/readyz"]) {
      expect((await fetch(app.baseUrl + path, { method: "POST" })).status).toBe(405);
    }
  });
});

describe("with a valid key", () => {
  const json = { "Content-Type": "application/json" };
  const rows: readonly (readonly [string, string, RequestInit, readonly [number, string, string?]])[] = [
    ["an unknown path", "/open/nowhere", {}, [404, "NOT_FOUND"]],
    ["the root", "/open", {}, [404, "NOT_FOUND"]],
    ["a path in other letter case", "/open/Global/Config", {}, [404, "NOT_FOUND"]],
    ["a trailing slash", "/open/global/config/", {}, [404, "NOT_FOUND"]],
    ["an encoded slash", "/open/global%2fconfig", {}, [404, "NOT_FOUND"]],
    ["an invalid percent-encoding", "/open/%zz", {}, [404, "NOT_FOUND"]],
    ["a wrong method", "/open/global/config", { method: "POST" }, [405, "METHOD_NOT_SUPPORTED"]],
    ["OPTIONS", "/open/global/config", { method: "OPTIONS" }, [405, "METHOD_NOT_SUPPORTED"]],
    ["an unknown method", "/open/global/config", { method: "PURGE" }, [405, "METHOD_NOT_SUPPORTED"]],
    ["an unknown query member", "/open/global/config?verbose=1", {}, [400, "BAD_REQUEST"]],
    [
      "bad JSON",
      "/open/trial",
      { method: "POST", body: "{", headers: json },
      [400, "BAD_REQUEST", "The body is not valid JSON"],
    ],
    [
      "JSON that isn't an object",
      "/open/trial",
      { method: "POST", body: "3", headers: json },
      [400, "BAD_REQUEST"],
    ],
    ["a missing field", "/open/trial", { method: "POST", body: "{}", headers: json }, [400, "BAD_REQUEST"]],
    ["a missing body", "/open/trial", { method: "POST", headers: json }, [400, "BAD_REQUEST"]],
    [
      "an unknown field",
      "/open/trial",
      { method: "POST", body: '{"fail":"no","role":"owner"}', headers: json },
      [400, "BAD_REQUEST"],
    ],
    [
      "a body that isn't JSON",
      "/open/trial",
      { method: "POST", body: new URLSearchParams({ fail: "no" }) },
      [415, "UNSUPPORTED_MEDIA_TYPE"],
    ],
    [
      "an unknown Content-Encoding",
      "/open/trial",
      { method: "POST", body: "x", headers: { ...json, "Content-Encoding": "zip" } },
      [415, "UNSUPPORTED_MEDIA_TYPE"],
    ],
    [
      "a body that is too large",
      "/open/trial",
      { method: "POST", body: `"${"a".repeat(200_000)}"`, headers: json },
      [413, "PAYLOAD_TOO_LARGE"],
    ],
    [
      "a body that is too large on the path of a GET endpoint",
      "/open/me",
      { method: "POST", body: "a".repeat(200_000) },
      [413, "PAYLOAD_TOO_LARGE"],
    ],
    [
      "an error that the endpoint declares",
      "/open/trial",
      { method: "POST", body: '{"fail":"conflict"}', headers: json },
      [409, "CONFLICT"],
    ],
    [
      "a bug in a handler",
      "/open/trial",
      { method: "POST", body: '{"fail":"bug"}', headers: json },
      [500, "INTERNAL_SERVER_ERROR", "Internal server error"],
    ],
  ];
  test.each(rows)("%s", async (_what, path, init, expected) => {
    expectError(await call(path, `Bearer ${validKey}`, init), expected);
  });

  test("405 has an Allow header", async () => {
    const { response } = await call("/open/global/config", `Bearer ${validKey}`, { method: "PUT" });
    expect(response.headers.get("allow")).toBe("GET, HEAD");
  });

  test("400 lists each invalid member", async () => {
    const body = JSON.stringify({ fail: "maybe", role: "owner", userId: "me" });
    const answer = await call("/open/trial", `Bearer ${validKey}`, { method: "POST", body, headers: json });
    expect(answer.body.error.issues.map((issue: { path: string }) => issue.path).toSorted()).toEqual([
      "fail",
      "role",
      "userId",
    ]);
  });

  test("a bug is logged with the request ID and not disclosed in the response", async () => {
    const answer = await call("/open/trial", `Bearer ${validKey}`, {
      method: "POST",
      body: '{"fail":"bug"}',
      headers: json,
    });
    expect(answer.text).not.toContain("swordfish");
    expect(answer.text).not.toContain("TypeError");
    // Only the first bug of a kind is logged with its message; later ones are counted.
    await expect.poll(() => app.readLog()).toContain(answer.body.error.requestId);
    expect(app.readLog()).toContain("swordfish");
    expect(app.readLog()).not.toContain(validKey);
  });

  test("a response has only the members that its endpoint declares", async () => {
    const answer = await call("/open/trial", `Bearer ${validKey}`, {
      method: "POST",
      body: '{"fail":"no"}',
      headers: json,
    });
    expect([answer.response.status, answer.body]).toEqual([201, { ok: true }]);
  });

  test("the size limit applies to a chunked body", async () => {
    const body = new ReadableStream({
      start(controller) {
        for (let count = 0; count < 40; count += 1)
          controller.enqueue(new TextEncoder().encode("a".repeat(10_000)));
        controller.close();
      },
    });
    const init = { method: "POST", body, headers: json, duplex: "half" } as RequestInit;
    expectError(await call("/open/trial", `Bearer ${validKey}`, init), [413, "PAYLOAD_TOO_LARGE"]);
  });

  test("the size limit applies to the decompressed body", async () => {
    const bomb = await new Response(
      new Blob([`{"fail":"no","note":"${"a".repeat(20_000_000)}"}`])
        .stream()
        .pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer();
    expect(bomb.byteLength).toBeLessThan(100_000);
    const init = { method: "POST", body: bomb, headers: { ...json, "Content-Encoding": "gzip" } };
    expectError(await call("/open/trial", `Bearer ${validKey}`, init), [413, "PAYLOAD_TOO_LARGE"]);
  });

  test("the size limit applies to the body before it is decompressed", async () => {
    const member = gzipSync("");
    const body = new ReadableStream({
      start(controller) {
        for (let count = 0; count < 100; count += 1)
          controller.enqueue(Buffer.concat(Array.from({ length: 100 }, () => member)));
        controller.close();
      },
    });
    const headers = { ...json, "Content-Encoding": "gzip" };
    const init = { method: "POST", body, headers, duplex: "half" } as RequestInit;
    expectError(await call("/open/trial", `Bearer ${validKey}`, init), [413, "PAYLOAD_TOO_LARGE"]);
  });

  test("a JSON content type without a body is accepted", async () => {
    expect((await call("/open/global/config", `Bearer ${validKey}`, { headers: json })).response.status).toBe(
      200,
    );
  });

  test("HEAD responds like GET, without the body", async () => {
    const { response, text } = await call("/open/global/config", `Bearer ${validKey}`, { method: "HEAD" });
    expect([response.status, text]).toEqual([200, ""]);
  });

  test("every admitted request is a use, whatever its status; a rejected request is not", async () => {
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
  test("a well-formed request ID is returned, any other is replaced", async () => {
    const id = randomUUID();
    const echoed = await call("/open/me", `Bearer ${validKey}`, { headers: { "X-Request-Id": id } });
    expect(echoed.response.headers.get("x-request-id")).toBe(id);
    for (const bad of ["a b", "x".repeat(129), "é", 'a"b']) {
      const replaced = await call("/open/me", `Bearer ${validKey}`, { headers: { "X-Request-Id": bad } });
      expect(replaced.response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  test("responses under /open can't be cached, or read by another site", async () => {
    const { response } = await call("/open/me", `Bearer ${validKey}`, {
      headers: { Origin: "https://elsewhere.example" },
    });
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });
});

/** Resolves when the connection is closed, with or without an error. */
function waitForClose(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

describe("requests that violate HTTP", () => {
  const shape = {
    error: {
      code: expect.any(String),
      message: expect.any(String),
      requestId: expect.any(String),
      documentationUrl: expect.stringContaining("/docs/errors#"),
    },
  };
  const rows: readonly (readonly [string, string, number])[] = [
    ["a request that isn't HTTP", "hello\r\n\r\n", 400],
    ["a malformed header", "GET /open/me HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n", 400],
    ["headers of 1 MB", `GET /open/me HTTP/1.1\r\nHost: x\r\nX-Long: ${"a".repeat(1_000_000)}\r\n\r\n`, 431],
    [
      "two Content-Length headers",
      "POST /open/me HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
      400,
    ],
    [
      "Content-Length and Transfer-Encoding",
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
    ["an invalid target", "GET http://[/open/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400],
    ["CONNECT", "CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n", 405],
    [
      "an unknown expectation",
      "GET /open/me HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\nConnection: close\r\n\r\n",
      401,
    ],
    [
      "malformed chunks",
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
    ["a deleted key", () => deletedKey, 403],
    ["a valid key", () => validKey, 200],
  ])("an absolute target URL, as sent to a proxy, is handled by its path: %s", async (_what, key, status) => {
    const token = key();
    const authorization = token ? `Authorization: Bearer ${token}\r\n` : "";
    const head = `Host: elsewhere.example\r\n${authorization}Connection: close`;
    const target = "http://elsewhere.example/open/global/config";
    const answer = await sendRaw(app.baseUrl, `GET ${target} HTTP/1.1\r\n${head}\r\n\r\n`);
    expect(answer.status).toBe(status);
  });

  test.each(["//u@h\\open/me#", "//u@h/open/me#", "/open/me#"])(
    "the target %s can't bypass admission",
    async (target) => {
      const head = "Host: a\r\nHost: b\r\nConnection: close";
      for (const method of ["GET", "POST"]) {
        const answer = await sendRaw(app.baseUrl, `${method} ${target} HTTP/1.1\r\n${head}\r\n\r\n`);
        expect(answer.status, `${method} without a key`).toBe(401);
      }
    },
  );

  test("two hosts are rejected with a valid key", async () => {
    const head = `Host: a\r\nHost: b\r\nAuthorization: Bearer ${validKey}\r\nConnection: close`;
    const answer = await sendRaw(app.baseUrl, `GET /open/me HTTP/1.1\r\n${head}\r\n\r\n`);
    expect(answer.status).toBe(400);
  });

  test("an aborted CONNECT request closes only its own connection", async () => {
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
    "don't replace the response to an earlier request on the connection: %s",
    async (second) => {
      const first = `GET /open/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${validKey}\r\n\r\n`;
      const answer = await sendRaw(app.baseUrl, `${first}${second}\r\n\r\n`);
      expect([answer.status, answer.body]).toEqual([200, expect.stringContaining('"usageCount"')]);
    },
  );

  test("a client that reads much less than it requests is disconnected, and others are served", async () => {
    const requests = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200);
    const { hostname, port } = new URL(app.baseUrl);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    const closed = waitForClose(socket);
    socket.pause();
    socket.write(requests);
    socket.resume();
    await closed;
    expect((await call("/open/me", `Bearer ${validKey}`)).response.status).toBe(200);
  });

  test.each([
    ["/healthz", "POST", {}],
    ["/trpc/session.signIn", "POST", { "Content-Type": "application/json" }],
    ["/open/me", "GET", { Authorization: "validKey" }],
    ["/sign-in", "GET", {}],
  ])(
    "an endless body to %s is cut off when the response closes the connection",
    async (path, method, headers) => {
      const { hostname, port } = new URL(app.baseUrl);
      const socket = connect(Number(port), hostname);
      socket.on("error", () => undefined);
      const lines = Object.entries(headers).map(
        ([name, value]) => `${name}: ${value === "validKey" ? `Bearer ${validKey}` : value}\r\n`,
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
      await waitForClose(socket);
      expect(sent).toBeLessThan(1_000);
    },
  );
});
