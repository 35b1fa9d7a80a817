import type { Page } from "playwright-core";
import { expect, test } from "vitest";
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
