// Bodies that exploit JSON parsers. /open rejects each with a specific error, and none causes a server error.
import { once } from "node:events";
import { connect } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
let key: string;
let cookie: string;

beforeAll(async () => {
  app = await startTestApp();
  const { userId } = await app.addUser();
  key = (await app.addKey(userId)).secret;
  const { cookies } = await app.services.sessions.open(userId, { headers: new Headers(), address: null });
  cookie = cookies[0]?.split(";")[0] ?? "";
});
afterAll(() => app.close());

async function post(path: string, body: string | Uint8Array<ArrayBuffer>, authorization = `Bearer ${key}`) {
  const response = await fetch(app.baseUrl + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: authorization, Cookie: cookie },
    body,
  });
  return { status: response.status, text: await response.text() };
}

const deep = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);
const named = (value: string): string => `{"name":${value}}`;

/** A description, a body, its status on `/open/workspaces`, and the path of the issue in the response. */
const rows: readonly (readonly [string, string | Uint8Array<ArrayBuffer>, number, string?])[] = [
  ["arrays 100,000 deep", deep(100_000, "[", "]"), 413],
  ["arrays 50,000 deep", deep(50_000, "[", "]"), 400],
  ["arrays 50,000 deep in a member", named(deep(50_000, "[", "]")), 400],
  ["objects 10,000 deep", deep(10_000, '{"a":', "}").replace(":}", ":0}"), 400],
  ["arrays 50,000 deep that never close", "[".repeat(50_000), 400],
  ["33 nested arrays", deep(33, "[", "]"), 400],
  ["a member __proto__", '{"name":"x","__proto__":{"role":"owner"}}', 400, "__proto__"],
  ["a member __proto__ with escapes", '{"name":"x","\\u005f_proto__":{"role":"owner"}}', 400, "__proto__"],
  ["a nested member __proto__", '{"name":"x","meta":[{"__proto__":1}]}', 400, "meta.0.__proto__"],
  ["a member constructor.prototype", '{"name":"x","constructor":{"prototype":{"a":1}}}', 400],
  ["a duplicate field", '{"name":"x","name":"y"}', 400, "name"],
  ["a duplicate field, once with escapes", '{"name":"x","n\\u0061me":"y"}', 400, "name"],
  ["a duplicate field with the same value", '{"name":"x","name":"x"}', 400, "name"],
  ["a nested duplicate field", '{"name":{"a":[1,{"b":0,"b":1}]}}', 400, "name.a.1.b"],
  ["an unknown duplicate field", '{"name":"x","role":"viewer","role":"owner"}', 400, "role"],
  ["U+0000 in a string", named('"a\\u0000b"'), 400, "name"],
  ["a bare NUL in a string", named('"a\0b"'), 400],
  ["a lone high surrogate", named('"a\\ud800b"'), 400, "name"],
  ["a lone low surrogate", named('"\\udc00"'), 400, "name"],
  ["surrogates in the wrong order", named('"\\udc00\\ud800"'), 400, "name"],
  ["a string with a right-to-left override", named('"a\\u202eb"'), 400, "name"],
  ["U+0000 in a member's name", '{"name":"x","\\u0000":1}', 400, "\u0000"],
  ["a comment", '{"name":"x"/* y */}', 400],
  ["a trailing comma", '{"name":"x",}', 400],
  ["single quotes", "{'name':'x'}", 400],
  ["NaN", named("NaN"), 400],
  ["a number out of range", named("1e999"), 400, "name"],
  ["a number of 90,000 digits", named("9".repeat(90_000)), 400, "name"],
  ["a string of 90,000 letters", named(`"${"a".repeat(90_000)}"`), 400, "name"],
  ["two bodies", '{"name":"x"}{"name":"y"}', 400],
  ["90,000 spaces", " ".repeat(90_000), 400],
  ["bytes that aren't UTF-8", new Uint8Array([0xff, 0xfe, 0x7b, 0x00]), 400],
  ["9,000 members", `{${Array.from({ length: 9_000 }, (_, index) => `"${index}":0`).join()}}`, 400],
];

const bodies = rows.map(([description, body, status, path]) => ({ description, body, status, path }));

describe("the open API", () => {
  test.each(bodies)("rejects $description", async ({ body, status, path }) => {
    const response = await post("/open/workspaces", body);
    expect(response.status).toBe(status);
    const { error } = JSON.parse(response.text);
    expect(error.message).toEqual(expect.any(String));
    if (path !== undefined)
      expect(error.issues).toContainEqual({ path, code: expect.any(String), message: expect.any(String) });
  });

  test.each(bodies)("responds with 401 to $description without a key", async ({ body }) => {
    expect((await post("/open/workspaces", body, "")).status).toBe(401);
  });

  test.each([
    ["32 nested arrays", named(deep(31, "[", "]"))],
    ["the same member name in different objects", '{"name":[{"a":1},{"a":1},{"b":{"a":2}}]}'],
  ])("parses %s", async (_what, body) => {
    const { error } = JSON.parse((await post("/open/workspaces", body)).text);
    expect(error.issues).toEqual([{ path: "name", code: "invalid_type", message: "must be a string" }]);
  });

  test("accepts a string that only looks dangerous", async () => {
    const name = "__proto__ “name” \\ 👩‍👩‍👧 {[/* */]}";
    const response = await post("/open/workspaces", JSON.stringify({ name }));
    expect([response.status, JSON.parse(response.text).name]).toEqual([201, name]);
  });
});

// Otherwise, 50,000 invalid items would block the event loop, also for a key over its rate limit.
test.each([
  ["/open/keys/verify-batch", `{"verifications":[${"0,".repeat(50_000)}0]}`, "verifications"],
  [
    "/open/keys/verify-batch",
    `{"verifications":[{"key":"","tags":[${"0,".repeat(50_000)}0]}]}`,
    "verifications.0.tags",
  ],
  ["/open/keys/verify", `{"key":"","limits":[${"{},".repeat(33_000)}0]}`, "limits"],
])("the items of an array with too many of them are not checked: %s", async (path, body, field) => {
  const { status, text } = await post(path, body);
  const { issues, omittedIssues } = JSON.parse(text).error;
  expect([status, issues, omittedIssues]).toMatchObject([
    400,
    [{ path: field, code: "too_many" }],
    undefined,
  ]);
  expect(issues).toHaveLength(1);
});

describe("the web app's calls", () => {
  test.each(bodies)("$description doesn't cause a server error", async ({ body }) => {
    const response = await post("/trpc/workspaces.create", body);
    expect(response.status === 200 || (response.status >= 400 && response.status < 500)).toBe(true);
    expect(JSON.parse(response.text)).not.toHaveProperty("error.data.stack");
  });

  test("no body has changed Object.prototype", () => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>).role).toBeUndefined();
  });
});

test("no body has caused an error in the log", () => {
  expect(app.readLog()).not.toContain('"level":50');
});

describe("a compressed body whose rest can't be decompressed", () => {
  const rest = Buffer.from("not compressed at all");
  const bodies: readonly (readonly [string, string, Buffer])[] = [
    ["that isn't UTF-8", "gzip", gzipSync(Buffer.alloc(100, 255))],
    ["that is too large", "gzip", gzipSync(Buffer.alloc(110_000, " "))],
    ["that is too large, with Brotli", "br", brotliCompressSync(Buffer.alloc(110_000, " "))],
  ];
  const chunk = (data: Buffer) =>
    Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from("\r\n")]);

  test.each(
    bodies.flatMap(([what, encoding, body]) =>
      ["/exports/audit-events", "/open/keys/verify", "/open/workspaces"].map(
        (path) => [what, path, encoding, body] as const,
      ),
    ),
  )("%s, at %s, is rejected, and the node serves the next request", async (_, path, encoding, body) => {
    const uncaught: unknown[] = [];
    const onError = (error: unknown) => uncaught.push(error);
    process.on("uncaughtException", onError);
    onTestFinished(() => void process.off("uncaughtException", onError));
    const { hostname, port, host } = new URL(app.baseUrl);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: ${host}`,
      "Content-Type: application/json",
      `Content-Encoding: ${encoding}`,
      "Transfer-Encoding: chunked",
      `Authorization: Bearer ${key}`,
      `Cookie: ${cookie}`,
    ].join("\r\n");
    socket.write(
      Buffer.concat([Buffer.from(`${head}\r\n\r\n`), chunk(body), chunk(rest), Buffer.from("0\r\n\r\n")]),
    );
    const [response] = await once(socket, "data");
    expect(String(response)).toMatch(/^HTTP\/1\.1 4(00|13) /);
    expect((await post("/open/workspaces", "{}")).status).toBe(400);
    expect(uncaught).toEqual([]);
  });
});

test("an export reads the body of no caller without a session", async () => {
  const response = await fetch(`${app.baseUrl}/exports/audit-events`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: "not JSON",
  });
  expect(response.status).toBe(401);
});
