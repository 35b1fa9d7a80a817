import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { createKey, enter } from "../support/visitor.ts";
import { prepareEnvironment } from "./environment.ts";

// CORS in a real browser: preflight requests, and which responses pages of other origins can read.

const [allowed, other] = await Promise.all([servePage(), servePage()]);
afterAll(() => {
  allowed.server.close();
  other.server.close();
});

let key: string;

const environment = prepareEnvironment(
  async ({ browser, baseUrl }) => {
    const { page } = await browser.open();
    await enter(page, baseUrl);
    key = await createKey(page, "Dashboard");
  },
  { CORS_ORIGINS: allowed.origin },
);

/** Serves an empty page on a separate port, and therefore on a separate origin. */
async function servePage(): Promise<{ readonly server: Server; readonly origin: string }> {
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
  const { page } = await environment.browser.open();
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
    [`${environment.baseUrl}/open/global/config`, key] as const,
  );
}

test("only pages of an allowed origin can call the open API", async () => {
  expect(await callFrom(allowed.origin)).toEqual([200, "from-a-page"]);
  expect(await callFrom(other.origin)).toBe("TypeError: Failed to fetch");
});
