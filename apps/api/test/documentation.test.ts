import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { buffer } from "node:stream/consumers";
import { errorCatalog, issueCatalog } from "@latchkey/errors";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { defineEndpoint } from "../src/http/endpoint.ts";
import { sendRaw, startTestApp, type TestApp } from "./test-app.ts";

const deprecated = {
  since: new Date("2026-01-01T00:00:00Z"),
  sunset: new Date("2027-07-01T00:00:00Z"),
  link: "https://keys.example.com/docs",
};

const oldEndpoint = defineEndpoint({
  method: "GET",
  path: "/old",
  operationId: "getOld",
  summary: "Get an old resource",
  description: "Returns an old resource.",
  access: "key",
  request: {},
  response: { status: 200, description: "The result.", schema: z.object({ ok: z.boolean() }) },
  errors: [],
  deprecated,
  handle: () => ({ ok: true }),
});

let app: TestApp;
let secret: string;
beforeAll(async () => {
  app = await startTestApp({ extraEndpoints: [oldEndpoint] });
  ({ secret } = await app.addKey());
});
afterAll(() => app.close());

async function get(path: string, key: string | undefined = secret): Promise<Response> {
  return await fetch(app.baseUrl + path, key ? { headers: { Authorization: `Bearer ${key}` } } : {});
}

/** Sends a request without adding headers, and doesn't decompress the response. */
async function send(path: string, headers: Record<string, string>) {
  const outgoing = request(app.baseUrl + path, { headers });
  outgoing.end();
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  const { length } = await buffer(response);
  return { status: response.statusCode, headers: response.headers, length };
}

/** Returns the `id` attributes of a page. */
async function anchorsOf(url: string): Promise<string[]> {
  const response = await fetch(url);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  return Array.from((await response.text()).matchAll(/ id="([^"]+)"/g), ([, id]) => id ?? "");
}

test("the error page has exactly one anchor per code", async () => {
  const anchors = await anchorsOf(`${app.baseUrl}/docs/errors`);
  expect(anchors).toEqual(
    expect.arrayContaining([...Object.keys(errorCatalog), ...Object.keys(issueCatalog)]),
  );
  expect(new Set(anchors).size).toBe(anchors.length);
});

test("the error page and the endpoints describe every limit that 429 stands for", async () => {
  const page = await (await fetch(`${app.baseUrl}/docs/errors`)).text();
  const section = page.split("<h3").find((part) => part.startsWith(' id="TOO_MANY_REQUESTS"')) ?? "";
  for (const limit of ["rate limit", "changes to API keys", "invitations", "Retry-After"])
    expect(section).toContain(limit);
  const { paths, components } = (await (await get("/openapi.json")).json()) as {
    paths: Record<string, Record<string, { responses: Record<string, { $ref: string }> }>>;
    components: { responses: Record<string, { description: string }> };
  };
  const describe = (path: string, method: string) =>
    components.responses[paths[path]?.[method]?.responses["429"]?.$ref.split("/").at(-1) ?? ""]?.description;
  expect(describe("/api-keys/{keyId}", "patch")).toContain("too many changes to API keys");
  expect(describe("/workspaces/{workspaceId}/invitations", "post")).toContain("too many invitations");
  expect(describe("/me", "get")).not.toContain("too many");
});

test.each([
  ["no key", "/open/me", ""],
  ["a key that isn't valid", "/open/me", "lk_none"],
  ["an unknown path", "/open/nowhere", undefined],
  ["an unknown parameter", "/open/me?a=1", undefined],
])("an error links to the page and anchor of its code: %s", async (_what, path, key) => {
  const { error } = (await (await get(path, key)).json()) as {
    error: { code: string; documentationUrl: string };
  };
  const [page = "", anchor = ""] = error.documentationUrl.split("#");
  expect(page).toBe(`${app.baseUrl}/docs/errors`);
  expect(anchor).toBe(error.code);
  expect(await anchorsOf(page)).toContain(anchor);
});

test("the error for a request that isn't HTTP links to the page and anchor of its code", async () => {
  const { body } = await sendRaw(app.baseUrl, "hello\r\n\r\n");
  expect(JSON.parse(body).error.documentationUrl).toBe(`${app.baseUrl}/docs/errors#BAD_REQUEST`);
});

test("a deprecated endpoint is marked in its headers and in the OpenAPI document", async () => {
  const { headers, status } = await get("/open/old");
  expect(status).toBe(200);
  expect(headers.get("deprecation")).toBe("@1767225600");
  expect(headers.get("sunset")).toBe("Thu, 01 Jul 2027 00:00:00 GMT");
  expect(headers.get("link")).toBe(`<${deprecated.link}>; rel="deprecation"; type="text/html"`);
  const document = (await (await fetch(`${app.baseUrl}/openapi.json`)).json()) as {
    paths: Record<string, { get?: { deprecated?: boolean; description: string } }>;
  };
  expect(document.paths["/old"]?.get?.deprecated).toBe(true);
  expect(document.paths["/old"]?.get?.description).toContain("2027-07-01");
  expect(document.paths["/me"]?.get?.deprecated).toBeUndefined();
  expect((await get("/open/me")).headers.get("deprecation")).toBeNull();
});

test.each(["/openapi.json", "/docs", "/docs/errors"])(
  "%s is compressed, and gets 304 on a conditional request",
  async (path) => {
    const plain = await send(path, {});
    const packed = await send(path, { "Accept-Encoding": "gzip, br" });
    expect(packed.headers["content-encoding"]).toBe("br");
    for (const { headers } of [plain, packed]) {
      expect(headers["cache-control"]).toBe("no-cache");
      expect(headers.vary).toContain("Accept-Encoding");
      expect(headers.etag).toEqual(expect.any(String));
    }
    if (path !== "/docs") expect(packed.length).toBeLessThan(plain.length / 2);
    const again = await send(path, {
      "Accept-Encoding": "br, gzip",
      "If-None-Match": packed.headers.etag ?? "",
    });
    expect([again.status, again.length]).toEqual([304, 0]);
    const other = await send(path, { "If-None-Match": packed.headers.etag ?? "" });
    expect(other.status).toBe(200);
  },
);

test("page templates aren't served under their file names", async () => {
  for (const path of ["/docs.html", "/docs-errors.html"]) expect((await send(path, {})).status).toBe(404);
});
