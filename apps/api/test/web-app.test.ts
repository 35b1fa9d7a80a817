import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { password, sendRaw, startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

test.each(["/", "/sign-in", "/w/some-workspace", "/w/some.name", "/w/a%2Fb/members"])(
  "the app's page is at %s",
  async (path) => {
    const response = await fetch(app.baseUrl + path);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/html; charset=utf-8",
    ]);
    expect(response.headers.get("cache-control")).toBe("no-cache");
  },
);

test("files with a hash in their name may be kept for ever", async () => {
  const response = await fetch(`${app.baseUrl}/assets/app-1a2b3c.js`);
  expect(response.status).toBe(200);
  expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
});

test.each(["br", "gzip", "identity"])("a script is sent as %s to whoever takes that", async (encoding) => {
  const url = `${app.baseUrl}/assets/app-1a2b3c.js`;
  const response = await fetch(url, { headers: { "Accept-Encoding": encoding } });
  expect(response.headers.get("content-encoding") ?? "identity").toBe(encoding);
  expect(response.headers.get("vary")).toContain("Accept-Encoding");
  expect(response.headers.get("content-type")).toMatch(/^(text|application)\/javascript/);
  expect(await response.text()).toBe("export {};");
});

test("behind https, pages ask browsers to stay there, and cookies are for this host and https alone", async () => {
  const secure = await startTestApp({ publicUrl: "https://keys.example.com" });
  onTestFinished(() => secure.close());
  const { email } = await secure.addUser();
  const page = await fetch(`${secure.baseUrl}/sign-in`);
  expect(page.headers.get("strict-transport-security")).toMatch(/max-age=31536000/);
  const response = await fetch(`${secure.baseUrl}/trpc/session.signIn`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  const [cookie = ""] = response.headers.getSetCookie();
  expect(cookie).toMatch(/^__Host-latchkey-session=/);
  expect(cookie).toMatch(/; Path=\/(;|$)/);
  expect(cookie).toMatch(/; Secure/i);
  expect(cookie).not.toMatch(/; Domain/i);
});

test("a node on its way out is not ready, and lives", async () => {
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
])("nothing stands behind %s", async (path) => {
  const { status, body } = await sendRaw(
    app.baseUrl,
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  );
  expect([status, JSON.parse(body).error.code]).toEqual([404, "NOT_FOUND"]);
});

/** Paths that a proxy or a monitor may ask for, and near misses of the app's own. */
const strangePaths = [
  "/metrics",
  "/livez",
  "/me",
  "/w",
  "/w/a/other",
  "/sign-in/",
  "/index.html",
  "/page-paths.json",
];

describe.each([...strangePaths, "/assets/gone.js", "/.hidden", "/%zz", "/trpc"])(
  "%s is not found",
  (path) => {
    test("as JSON, unless the request prefers HTML", async () => {
      for (const accept of [undefined, "*/*", "application/json", "application/json, text/html;q=0.5"]) {
        const response = await fetch(app.baseUrl + path, accept ? { headers: { Accept: accept } } : {});
        expect([response.status, response.headers.get("vary")]).toEqual([404, "Accept"]);
        expect(await response.json()).toMatchObject({ error: { code: "NOT_FOUND" } });
      }
    });

    test("as the app's page for a browser that navigates", async () => {
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

test("a page takes no POST", async () => {
  const response = await fetch(`${app.baseUrl}/sign-in`, { method: "POST" });
  expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test("pages run no foreign or inline script, sit in no frame and are taken at their type", async () => {
  const { headers } = await fetch(`${app.baseUrl}/sign-in`);
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy).toContain("script-src 'self';");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("strict-transport-security")).toBeNull();
});

test("who has a file already is told so, and who has another encoding of it is not", async () => {
  const url = `${app.baseUrl}/assets/app-1a2b3c.js`;
  const first = await fetch(url, { headers: { "Accept-Encoding": "br" } });
  const etag = first.headers.get("etag") ?? "";
  await first.text();
  // As a browser asks: fetch would add that it wants no answer from a cache.
  const again = async (encoding: string) => {
    const head = `Host: x\r\nAccept-Encoding: ${encoding}\r\nIf-None-Match: ${etag}\r\nConnection: close`;
    return await sendRaw(app.baseUrl, `GET /assets/app-1a2b3c.js HTTP/1.1\r\n${head}\r\n\r\n`);
  };
  expect(await again("br")).toMatchObject({ status: 304, body: "" });
  expect(await again("identity")).toMatchObject({ status: 200, body: "export {};" });
});

test("callers who ask for very many files on one connection and read none leave no file open", async () => {
  const countOpen = async (): Promise<number> => (await readdir("/proc/self/fd")).length;
  const before = await countOpen();
  const request = "GET /assets/app-1a2b3c.js HTTP/1.1\r\nHost: x\r\n\r\n";
  for (let connection = 0; connection < 20; connection += 1) {
    const socket = connect(Number(new URL(app.baseUrl).port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(request.repeat(60));
    await once(socket, "close");
  }
  await expect.poll(countOpen).toBeLessThan(before + 20);
});
