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

/** The uses of the key. Admission counts a use before the response is sent. */
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
    ["a resource", "/open/me", 200],
    ["a list", "/open/api-keys?limit=1", 200],
    ["an error", "/open/nowhere", 404],
    ["the root", "/open", 404],
    ["the document", "/openapi.json", 200],
  ])("can read %s", async (_name, path, status) => {
    const response = await send(path, { ...bearer(), Origin: page });
    expect(response.status).toBe(status);
    expect(response.headers.get("access-control-allow-origin")).toBe(page);
    expect(response.headers.get("access-control-expose-headers")).toBe(
      "X-Request-Id, RateLimit, RateLimit-Policy, Retry-After, Link, ETag, Idempotent-Replayed, Allow, Deprecation, Sunset",
    );
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    expect(response.headers.get("vary")).toContain("Origin");
  });

  test("can read the rejection of a request without a key", async () => {
    const response = await send("/open/me", { Origin: page });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([401, page]);
  });

  test("gets a response to a preflight request without a key and without a use", async () => {
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

  test("gets 405 for an OPTIONS request with a key", async () => {
    const headers = { ...bearer(), Origin: page, "Access-Control-Request-Method": "GET" };
    const response = await send("/open/me", headers, "OPTIONS");
    expect([response.status, response.headers.get("access-control-allow-methods")]).toEqual([405, null]);
  });

  test.each(["/trpc/session.current", "/sign-in", "/docs", "/healthz", "/openapi.json.map", "/opener"])(
    "gets no CORS headers for %s",
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
  ["a prefix of an allowed origin", "https://app.example.co"],
  ["an origin that starts with an allowed one", `${page}.evil.example`],
  ["another scheme", "http://app.example.com"],
  ["another port", `${page}:8443`],
  ["a sandboxed page", "null"],
])("%s", (_name, origin) => {
  test("gets no CORS headers", async () => {
    for (const path of ["/open/me", "/openapi.json"]) {
      const response = await send(path, { ...bearer(), Origin: origin });
      expect(corsHeadersOf(response)).toEqual([]);
      // A cache must not return this response to a page of an allowed origin.
      expect(response.headers.get("vary")).toContain("Origin");
    }
  });

  test("gets 401 for a preflight request, without a use", async () => {
    const before = await countUses();
    const headers = { Origin: origin, "Access-Control-Request-Method": "GET" };
    const response = await send("/open/me", headers, "OPTIONS");
    expect([response.status, corsHeadersOf(response)]).toEqual([401, []]);
    expect(await countUses()).toBe(before);
  });
});

test("a response to a request without an Origin header has Vary: Origin", async () => {
  const response = await send("/open/me", bearer());
  expect([corsHeadersOf(response), response.headers.get("vary")]).toEqual([[], "Origin"]);
});
