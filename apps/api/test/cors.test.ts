import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestApp, type TestApp } from "./test-app.ts";

const page = "https://app.example.com";
const other = "https://other.example.com";

let app: TestApp;
let key: Awaited<ReturnType<TestApp["addKey"]>>;
beforeAll(async () => {
  app = await startTestApp({ corsOrigins: ["http://localhost:3000", page] });
  key = await app.addKey();
});
afterAll(() => app.close());

const bearer = () => ({ Authorization: `Bearer ${key.secret}` });

async function send(path: string, headers: Record<string, string>, method = "GET") {
  const response = await fetch(app.baseUrl + path, { method, headers });
  await response.text();
  return response;
}

const corsHeadersOf = ({ headers }: Response) =>
  [...headers.keys()].filter((name) => name.startsWith("access-control-"));

/** How often the key was used, as of the last answer: admission counts a use before it answers. */
async function countUses(): Promise<number> {
  const { use_count: count } = await app.owner
    .selectFrom("key_counters")
    .select("use_count")
    .where("key_id", "=", key.id)
    .executeTakeFirstOrThrow();
  return count;
}

describe("a page of an allowed origin", () => {
  test.each([
    ["an answer", "/open/me", 200],
    ["a list", "/open/api-keys?limit=1", 200],
    ["a failure", "/open/nowhere", 404],
    ["a bare prefix", "/open", 404],
    ["the document", "/openapi.json", 200],
  ])("reads %s", async (_name, path, status) => {
    const response = await send(path, { ...bearer(), Origin: page });
    expect(response.status).toBe(status);
    expect(response.headers.get("access-control-allow-origin")).toBe(page);
    expect(response.headers.get("access-control-expose-headers")).toBe(
      "X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, Link, ETag, Idempotent-Replayed",
    );
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    expect(response.headers.get("vary")).toContain("Origin");
  });

  test("reads why a request without a key was rejected", async () => {
    const response = await send("/open/me", { Origin: page });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([401, page]);
  });

  test("has its preflight answered without a key and without a use", async () => {
    const before = await countUses();
    const response = await send(
      "/open/me",
      {
        Origin: page,
        "Access-Control-Request-Method": "PATCH",
        "Access-Control-Request-Headers": "authorization,content-type,if-match",
      },
      "OPTIONS",
    );
    expect(response.status).toBe(204);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "access-control-allow-origin": page,
      "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
      "access-control-allow-headers":
        "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, X-Request-Id",
      "access-control-max-age": "7200",
      vary: "Origin",
      "x-content-type-options": "nosniff",
      "x-request-id": expect.any(String),
    });
    expect(await countUses()).toBe(before);
  });

  test("has an OPTIONS request with a key rejected like any other wrong method", async () => {
    const headers = { ...bearer(), Origin: page, "Access-Control-Request-Method": "GET" };
    const response = await send("/open/me", headers, "OPTIONS");
    expect([response.status, response.headers.get("access-control-allow-methods")]).toEqual([405, null]);
  });

  test.each(["/trpc/session.current", "/sign-in", "/docs", "/healthz", "/openapi.json.map", "/opener"])(
    "reads nothing of %s",
    async (path) => {
      for (const method of ["GET", "OPTIONS"]) {
        const headers = { Origin: page, "Access-Control-Request-Method": "POST" };
        expect(corsHeadersOf(await send(path, headers, method))).toEqual([]);
      }
    },
  );
});

describe.each([
  ["another origin", other],
  ["an origin that an allowed one begins with", "https://app.example.co"],
  ["an origin that begins with an allowed one", `${page}.evil.example`],
  ["another scheme", "http://app.example.com"],
  ["another port", `${page}:8443`],
  ["a sandboxed page", "null"],
])("%s", (_name, origin) => {
  test("is told nothing by a CORS header", async () => {
    for (const path of ["/open/me", "/openapi.json"]) {
      const response = await send(path, { ...bearer(), Origin: origin });
      expect(corsHeadersOf(response)).toEqual([]);
      // A cache must not hand this answer to a page of an allowed origin.
      expect(response.headers.get("vary")).toContain("Origin");
    }
  });

  test("has its preflight rejected, without a use", async () => {
    const before = await countUses();
    const headers = { Origin: origin, "Access-Control-Request-Method": "GET" };
    const response = await send("/open/me", headers, "OPTIONS");
    expect([response.status, corsHeadersOf(response)]).toEqual([401, []]);
    expect(await countUses()).toBe(before);
  });
});

test("a request without an origin is answered for caches that tell origins apart", async () => {
  const response = await send("/open/me", bearer());
  expect([corsHeadersOf(response), response.headers.get("vary")]).toEqual([[], "Origin"]);
});
