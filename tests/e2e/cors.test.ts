import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBrowser, type TestBrowser } from "../support/browser.ts";
import { type Product, startProduct } from "../support/prepared-instance.ts";
import { createKey, signUp } from "../support/visitor.ts";

// CORS in a real browser: preflight requests, and which responses pages of other origins can read.

let pages: readonly { readonly server: Server; readonly origin: string }[];
let product: Product;
let browser: TestBrowser;
let key: string;

beforeAll(async () => {
  pages = await Promise.all([servePage(), servePage()]);
  const [allowed] = pages;
  [product, browser] = await Promise.all([
    startProduct({ CORS_ORIGINS: allowed?.origin ?? "" }),
    startBrowser(),
  ]);
  const { page } = await browser.open();
  await signUp(page, product.baseUrl);
  key = await createKey(page, "Dashboard");
});
afterAll(async () => {
  await browser.stop();
  await product.stop();
  for (const { server } of pages) server.close();
});

/** Serves an empty page on a separate port, and therefore on a separate origin. */
async function servePage() {
  const server = createServer((_req, res) =>
    res.setHeader("Content-Type", "text/html").end("<!doctype html>"),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // It listens on TCP.
  return { server, origin: `http://127.0.0.1:${port}` };
}

/**
 * Calls the open API from a page, with headers that need a preflight request. Returns what the page can read of the
 * response.
 */
async function callFrom(origin: string) {
  const { page } = await browser.open();
  await page.goto(origin);
  return await page.evaluate(
    async ([url, secret]) => {
      try {
        const headers = { Authorization: `Bearer ${secret}`, "X-Request-Id": "from-a-page" };
        const response = await fetch(url, { headers });
        return [response.status, response.headers.get("x-request-id")];
      } catch (error) {
        return String(error);
      }
    },
    [`${product.baseUrl}/open/global/config`, key] as const,
  );
}

test("only pages of an allowed origin can call the open API", async () => {
  const [allowed, other] = pages;
  expect(await callFrom(allowed?.origin ?? "")).toEqual([200, "from-a-page"]);
  expect(await callFrom(other?.origin ?? "")).toBe("TypeError: Failed to fetch");
});
