import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { measureLeastCpuMs } from "@latchkey/db/testing/cpu-time";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { password, sendRaw, startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
/** The app behind a proxy that terminates TLS. */
let secure: TestApp;
beforeAll(async () => {
  [app, secure] = await Promise.all([
    startTestApp(),
    startTestApp({ publicUrl: "https://keys.example.com" }),
  ]);
});
afterAll(async () => {
  await app.close();
  await secure.close();
});

/** Sends a request with headers that `fetch` doesn't let callers set. */
async function sendTo(
  { baseUrl }: TestApp,
  line: string,
  { body = "", ...headers }: Record<string, string | number>,
) {
  const head = Object.entries({ ...headers, Connection: "close" }).map((header) => header.join(": "));
  return await sendRaw(baseUrl, `${line} HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n${body}`);
}

const consumers = "/w/some-workspace/keyspaces/ks_1/consumers";

test.each([
  ...["/", "/sign-in", "/w/some-workspace", "/w/some.name", "/w/a%2Fb/members"],
  // An external ID can have any printable character.
  ...[
    consumers,
    ...["acme", "..%2Fa", "a%2F%2Fb", ".a", "a%5Cb", "%25", "%252F"].map((id) => `${consumers}/${id}`),
  ],
])("serves the app at %s", async (path) => {
  const response = await fetch(app.baseUrl + path);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(response.headers.get("cache-control")).toBe("no-cache");
});

test("files with a hash in their name are immutable for caches", async () => {
  const response = await fetch(`${app.baseUrl}/assets/app-1a2b3c.js`);
  expect(response.status).toBe(200);
  expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
});

test("only documents, and files that a browser could open as one, have the headers of a page", async () => {
  const headerOf = async (path: string) =>
    (await fetch(app.baseUrl + path)).headers.get("content-security-policy");
  expect(await headerOf("/assets/app-1a2b3c.js")).toBeNull();
  for (const path of ["/sign-in", "/favicon.svg", "/assets/none.js", "/openapi.json"])
    expect(await headerOf(path)).toContain("script-src 'self'");
});

test.each([
  ["br", "br"],
  ["gzip", "gzip"],
  ["identity", "identity"],
  ["gzip;q=0.5, br;q=0", "gzip"],
  // What Chromium and Firefox send.
  ["gzip, deflate, br, zstd", "br"],
])("a client that accepts %s gets a script as %s", async (accepted, encoding) => {
  const url = `${app.baseUrl}/assets/app-1a2b3c.js`;
  const response = await fetch(url, { headers: { "Accept-Encoding": accepted } });
  expect(response.headers.get("content-encoding") ?? "identity").toBe(encoding);
  expect(response.headers.get("vary")).toContain("Accept-Encoding");
  expect(response.headers.get("content-type")).toMatch(/^(text|application)\/javascript/);
  expect(await response.text()).toBe("export {};");
});

test("behind HTTPS, pages set HSTS, and cookies have the __Host- prefix and Secure", async () => {
  const { email } = await secure.addUser();
  const page = await sendTo(secure, "GET /sign-in", { Host: "keys.example.com" });
  expect(page.head).toMatch(/^strict-transport-security: max-age=31536000/im);
  const body = JSON.stringify({ email, password });
  const { head } = await sendTo(secure, "POST /trpc/session.signIn", {
    Host: "keys.example.com",
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
    body,
  });
  const [, cookie = ""] = /^set-cookie: (.*)$/im.exec(head) ?? [];
  expect(cookie).toMatch(/^__Host-latchkey-session=/);
  expect(cookie).toMatch(/; Path=\/(;|$)/);
  expect(cookie).toMatch(/; Secure/i);
  expect(cookie).not.toMatch(/; Domain/i);
});

const appPaths = ["/", "/sign-in", "/trpc/session.current", "/docs", "/assets/app-1a2b3c.js", "/nowhere"];

test.each(appPaths)("%s is served under the host of BASE_URL only", async (path) => {
  const { status, body } = await sendTo(secure, `GET ${path}`, { Host: "evil.example" });
  expect(status).toBe(400);
  expect(JSON.parse(body).error).toMatchObject({
    code: "BAD_REQUEST",
    message: expect.stringContaining("Use https://keys.example.com, or set BASE_URL"),
  });
  const known = await sendTo(secure, `GET ${path}`, { Host: "keys.example.com" });
  expect(known.status).toBe(path === "/nowhere" ? 404 : 200);
});

test.each(["/open/me", "/openapi.json", "/healthz", "/readyz"])(
  "%s is served under any host",
  async (path) => {
    const { secret } = await secure.addKey();
    const headers = { Host: "latchkey.internal", Authorization: `Bearer ${secret}` };
    expect((await sendTo(secure, `GET ${path}`, headers)).status).toBe(200);
  },
);

const requestsOfAllKinds = [
  ["health", "GET /healthz"],
  ["readiness", "GET /readyz"],
  ["a page", "GET /sign-in"],
  ["a script", "GET /assets/app-1a2b3c.js"],
  ["a page that is not found", "GET /nowhere", "Accept: text/html"],
  ["JSON that is not found", "GET /nowhere"],
  ["the API reference", "GET /docs"],
  ["the OpenAPI document", "GET /openapi.json"],
  ["a procedure", "GET /trpc/session.current"],
  ["an unknown procedure", "GET /trpc/nowhere"],
  ["no key", "GET /open/me"],
  ["an unknown key", "GET /open/me", `Authorization: Bearer lk_${"0".repeat(36)}`],
  ["a long query string", `GET /healthz?${"a&".repeat(60)}`],
  ["two hosts", "GET /healthz", "Host: localhost"],
  ["an unknown host", "POST http://elsewhere.example/sign-in"],
  ["a malformed header", "GET /healthz", "no colon"],
  ["headers that are too large", "GET /healthz", `X-Large: ${"x".repeat(20_000)}`],
  ["CONNECT", "CONNECT elsewhere.example:443"],
] as const;

test.each(requestsOfAllKinds)("the response to %s has nosniff", async (_name, line, header?: string) => {
  const head = `Host: localhost\r\n${header ? `${header}\r\n` : ""}Connection: close`;
  const response = await sendRaw(app.baseUrl, `${line} HTTP/1.1\r\n${head}\r\n\r\n`);
  expect(response.status).toBeGreaterThanOrEqual(200);
  expect(response.head.match(/^x-content-type-options: nosniff\r?$/gim)).toHaveLength(1);
});

test("a draining node is healthy but not ready", async () => {
  const draining = await startTestApp({ isDraining: true });
  onTestFinished(() => draining.close());
  expect((await fetch(`${draining.baseUrl}/readyz`)).status).toBe(503);
  expect((await fetch(`${draining.baseUrl}/healthz`)).status).toBe(200);
});

test.each([
  "/assets/gone.js",
  "/assets/app-1a2b3c.js.map",
  "/.hidden",
  "/.git/config",
  "/..%2f..%2fpackage.json",
  "/%2e%2e/package.json",
  "/assets/%00",
  "/%zz",
  "/assets/..%5c..%5cpackage.json",
  "//elsewhere.example/",
  ...["%00", "%0A", "%zz", "%2e", "..", "a/b", ""].map((id) => `${consumers}/${id}`),
  `/w/..%2Fa/keyspaces/ks_1/consumers/acme`,
])("responds with 404 to %s", async (path) => {
  const { status, body } = await sendRaw(
    app.baseUrl,
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  );
  expect([status, JSON.parse(body).error.code]).toEqual([404, "NOT_FOUND"]);
});

/** Paths that a proxy or monitor may request, and paths that resemble the app's own. */
const unknownPaths = [
  "/metrics",
  "/livez",
  "/me",
  "/w",
  "/w/a/other",
  "/sign-in/",
  "/index.html",
  "/page-paths.json",
];

describe.each([...unknownPaths, "/assets/gone.js", "/.hidden", "/%zz", "/trpc"])(
  "%s is not found",
  (path) => {
    test("with a JSON error, unless the request prefers HTML", async () => {
      for (const accept of [undefined, "*/*", "application/json", "application/json, text/html;q=0.5"]) {
        const response = await fetch(app.baseUrl + path, accept ? { headers: { Accept: accept } } : {});
        expect([response.status, response.headers.get("vary")]).toEqual([404, "Accept"]);
        expect(await response.json()).toMatchObject({ error: { code: "NOT_FOUND" } });
      }
    });

    test("with the app's page for a navigation in a browser", async () => {
      const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
      const response = await fetch(app.baseUrl + path, { headers: { Accept: accept } });
      expect([response.status, response.headers.get("content-type")]).toEqual([
        404,
        "text/html; charset=utf-8",
      ]);
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("vary")).toContain("Accept");
      expect(await response.text()).toContain("<title>Latchkey</title>");
    });

    test("for any method", async () => {
      const response = await fetch(app.baseUrl + path, { method: "POST" });
      expect(response.status).toBe(404);
    });
  },
);

test("a page rejects POST", async () => {
  const response = await fetch(`${app.baseUrl}/sign-in`, { method: "POST" });
  expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test.each(["session.current", "session.signIn", "nowhere"])(
  "the procedure %s is called with GET or POST only",
  async (procedure) => {
    for (const method of ["HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"]) {
      const response = await fetch(`${app.baseUrl}/trpc/${procedure}`, { method });
      expect([method, response.status, response.headers.get("allow")]).toEqual([method, 405, "GET, POST"]);
    }
  },
);

test("pages forbid foreign scripts, inline scripts, framing and content sniffing", async () => {
  const { headers } = await fetch(`${app.baseUrl}/sign-in`);
  expect(headers.get("content-security-policy")?.split(";").sort()).toEqual([
    "base-uri 'none'",
    "connect-src 'self'",
    "default-src 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "img-src 'self' data:",
    "object-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
  ]);
  expect(headers.get("referrer-policy")).toBe("same-origin");
  expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("strict-transport-security")).toBeNull();
});

test("a client gets 304 for a file that it has in the same encoding, but not in another one", async () => {
  const url = `${app.baseUrl}/assets/app-1a2b3c.js`;
  const first = await fetch(url, { headers: { "Accept-Encoding": "br" } });
  const etag = first.headers.get("etag") ?? "";
  await first.text();
  // Sends the raw request of a browser, because fetch would add Cache-Control: no-cache.
  const revalidate = async (encoding: string) => {
    const head = `Host: localhost\r\nAccept-Encoding: ${encoding}\r\nIf-None-Match: ${etag}\r\nConnection: close`;
    return await sendRaw(app.baseUrl, `GET /assets/app-1a2b3c.js HTTP/1.1\r\n${head}\r\n\r\n`);
  };
  const unchanged = await revalidate("br");
  expect(unchanged).toMatchObject({ status: 304, body: "" });
  expect(unchanged.head.toLowerCase()).toContain("x-content-type-options: nosniff");
  expect(await revalidate("identity")).toMatchObject({ status: 200, body: "export {};" });
});

test("a connection that requests many files and reads none leaves no file open", async () => {
  const countOpen = async (): Promise<number> => (await readdir("/proc/self/fd")).length;
  const before = await countOpen();
  const request = "GET /assets/app-1a2b3c.js HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (let connection = 0; connection < 20; connection += 1) {
    const socket = connect(Number(new URL(app.baseUrl).port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(request.repeat(60));
    await once(socket, "close");
  }
  await expect.poll(countOpen).toBeLessThan(before + 20);
});

test("a long Accept header takes little time, and the response is JSON", async () => {
  // The header that a parser of media types takes the longest for, with a quote that is never closed.
  const headers = { Accept: `a/b"${",".repeat(15_000)}` };
  // The server and the client run on this thread.
  const leastMs = await measureLeastCpuMs(async () => {
    const response = await fetch(`${app.baseUrl}/nowhere`, { headers });
    expect([response.status, response.headers.get("content-type")]).toEqual([
      404,
      "application/json; charset=utf-8",
    ]);
    await response.text();
  });
  expect(leastMs).toBeLessThan(10);
});
