import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findAccessibilityProblems } from "../support/accessibility.ts";
import { createKey, signUp } from "../support/visitor.ts";
import { setStage } from "./set-stage.ts";

// The reference of the open API, as somebody with a new key meets it.

let key: string;
const stage = setStage(async ({ browser, baseUrl }) => {
  const { page } = await browser.open();
  await signUp(page, baseUrl);
  key = await createKey(page, "Reference");
});

interface Visit {
  readonly page: Page;
  readonly complaints: readonly string[];
  /** Every address that the page asked for. */
  readonly asked: readonly string[];
}

/** Opens the operation that tells an instance's configuration, on the reference page behind `origin`. */
async function openReference(origin: string, colorScheme: "light" | "dark"): Promise<Visit> {
  const { page, complaints } = await stage.browser.open({ colorScheme });
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`${origin}/docs#tag/instance/GET/global/config`);
  await page.getByRole("heading", { name: "The instance's public configuration" }).waitFor();
  return { page, complaints, asked };
}

/** Tries the operation with a key, and answers what the page shows of the status and the body. */
async function tryCall(page: Page, secret: string): Promise<string> {
  await page.getByRole("button", { name: /Test Request.*get \/global\/config/s }).click();
  const client = page.getByRole("dialog");
  await client.getByPlaceholder("Token").fill(secret);
  await client.getByRole("button", { name: /^Send get request/ }).click();
  await client.getByText("requestId").or(client.getByText("serverTime")).first().waitFor();
  return (await client.textContent()) ?? "";
}

test.each(["light", "dark"] as const)("tries a call with a key, on a %s system", async (colorScheme) => {
  const { page, complaints, asked } = await openReference(stage.baseUrl, colorScheme);
  const shown = await tryCall(page, key);
  expect(shown).toMatch(/Status:\s*200 OK/);
  expect(shown).toContain('"registration": "open"');
  expect(asked).toContain(`${stage.baseUrl}/open/global/config`);
  expect(asked.filter((address) => new URL(address).origin !== stage.baseUrl)).toEqual([]);
  expect(complaints).toEqual([]);
  expect(await page.evaluate("document.body.classList.contains('dark-mode')")).toBe(colorScheme === "dark");
});

test("tells who tries a key that is no good what the API says", async () => {
  const { page } = await openReference(stage.baseUrl, "light");
  const shown = await tryCall(page, "lk_nothing");
  expect(shown).toMatch(/Status:\s*403 Forbidden/);
  expect(shown).toContain('"Insufficient access"');
});

test("calls the address it was opened at, and keeps no key", async () => {
  const other = stage.baseUrl.replace("127.0.0.1", "localhost");
  expect(other).not.toBe(stage.baseUrl);
  const { page, asked } = await openReference(other, "light");
  expect(await tryCall(page, key)).toMatch(/Status:\s*200 OK/);
  expect(asked.filter((address) => new URL(address).origin !== other)).toEqual([]);
  const kept = await page.evaluate(
    "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])",
  );
  expect(kept).not.toContain(key);
});

test("says of every operation which permission it needs", async () => {
  const { page } = await openReference(stage.baseUrl, "light");
  await page.goto(`${stage.baseUrl}/docs#tag/members/PATCH/workspaces/{workspaceId}/members/{userId}`);
  await page.reload();
  await page.getByRole("heading", { name: "Change a member's role" }).waitFor();
  await page.getByText("Needs members:manage.").first().waitFor();
});

test.each([
  { colorScheme: "light", width: 1280 },
  { colorScheme: "dark", width: 1280 },
  { colorScheme: "light", width: 375 },
  { colorScheme: "dark", width: 375 },
] as const)("is accessible in $colorScheme at $width px, and leads back to the app", async (options) => {
  const { colorScheme, width } = options;
  const { page } = await stage.browser.open({ colorScheme, viewport: { width, height: 800 } });
  await page.goto(`${stage.baseUrl}/docs`);
  await page.getByRole("heading", { name: "Latchkey open API" }).waitFor();
  expect(await findAccessibilityProblems(page)).toEqual([]);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  await page.goto(`${stage.baseUrl}/docs#tag/workspaces/POST/workspaces`);
  await page.getByRole("heading", { name: "Create a workspace" }).waitFor();
  expect(await findAccessibilityProblems(page)).toEqual([]);
  await page.goto(`${stage.baseUrl}/docs/errors#FORBIDDEN`);
  await page.getByRole("heading", { name: "FORBIDDEN HTTP 403" }).waitFor();
  expect(await findAccessibilityProblems(page)).toEqual([]);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  await page.getByRole("link", { name: "Back to the app" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});

test("takes the colors and the font of the app, and the scheme chosen there", async () => {
  const { page } = await stage.browser.open({ colorScheme: "light" });
  await page.goto(stage.baseUrl);
  await page.evaluate("localStorage.setItem('latchkey.appearance', 'dark')");
  await page.goto(`${stage.baseUrl}/docs`);
  await page.getByRole("heading", { name: "Latchkey open API" }).waitFor();
  const look = await page.evaluate(
    "[getComputedStyle(document.querySelector('h1')).fontFamily, getComputedStyle(document.querySelector('h1')).color]",
  );
  expect(look).toEqual([expect.stringMatching(/^"?Inter/), "rgb(230, 233, 238)"]);
  expect(await page.evaluate("document.body.classList.contains('dark-mode')")).toBe(true);
});

test.each([
  [
    "tag/workspaces/POST/workspaces",
    "Create a workspace",
    /Test Request.*post \/workspaces/s,
    "Idempotency-Key",
  ],
  [
    "tag/api-keys/DELETE/api-keys/{keyId}",
    "Delete an API key",
    /Test Request.*delete \/api-keys/s,
    "If-Match",
  ],
] as const)("sends no header that nobody filled in: %s", async (anchor, title, button, header) => {
  const { page } = await stage.browser.open();
  await page.goto(`${stage.baseUrl}/docs#${anchor}`);
  await page.getByRole("heading", { name: title }).waitFor();
  await page.getByRole("button", { name: button }).click();
  const client = page.getByRole("dialog");
  await client.getByPlaceholder("Token").fill(key);
  const sent = page.waitForRequest((request) => request.url().includes("/open/"));
  await client.getByRole("button", { name: /^Send (post|delete) request/ }).click();
  const headers = await (await sent).allHeaders();
  expect(headers.authorization).toBe(`Bearer ${key}`);
  expect(headers[header.toLowerCase()]).toBeUndefined();
  // The example names a key that doesn't exist.
  const status = header === "If-Match" ? /Status:\s*403/ : /Status:\s*201/;
  await client
    .getByText(status)
    .or(client.getByText(/requestId|slug/).first())
    .first()
    .waitFor();
  await expect.poll(() => client.textContent()).toMatch(status);
});

test("loads its script compressed, once", async () => {
  const { page } = await stage.browser.open();
  const loads = async () => {
    const script = page.waitForResponse((response) => /\/assets\/standalone-.+\.js$/.test(response.url()));
    await page.goto(`${stage.baseUrl}/docs`);
    return await script;
  };
  const first = await loads();
  const { "content-encoding": encoding, "cache-control": caching } = first.headers();
  // Chromium accepts Brotli over HTTPS and from this machine only; both are compressed beforehand.
  expect(["br", "gzip"]).toContain(encoding);
  expect(caching).toBe("public, max-age=31536000, immutable");
  const { responseBodySize } = await first.request().sizes();
  expect(responseBodySize).toBeLessThan(1_400_000);
});
