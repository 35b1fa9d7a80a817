import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { readQueryCaches } from "../support/query-caches.ts";
import { callOpenApi, createKey, readClipboard, visitor } from "../support/visitor.ts";
import { prepareEnvironment } from "./environment.ts";
import { untilFocused } from "./until-focused.ts";

// One visit in steps: each test continues where the previous one ended.

let page: Page;
let complaints: readonly string[];
let key: string;

const environment = prepareEnvironment(async ({ browser }) => {
  ({ page, complaints } = await browser.open());
});

const row = (name: string) => page.getByRole("row").filter({ has: page.getByRole("rowheader", { name }) });
const dialog = () => page.getByRole("dialog");
const mainPassword = () => page.getByLabel("Password");

test("leads the first visitor to the setup of the operator's account, with an explanation", async () => {
  await page.goto(environment.baseUrl);
  await page.getByRole("heading", { name: "Create the operator’s account" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/sign-up");
  await page.getByText("The first account becomes the operator").waitFor();
  await page.goto(`${environment.baseUrl}/sign-in`);
  await page.getByText("This instance has no accounts yet.").waitFor();
  await page.getByRole("link", { name: "Create the operator’s account" }).click();
  await page.getByRole("button", { name: "Create account" }).waitFor();
});

test("shows under each field what is missing, and the minimum length of a password", async () => {
  await page.getByText("12 to 128 characters.").waitFor();
  await mainPassword().fill("too short");
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("Enter your name.").waitFor();
  await page.getByText("Enter an email address, such as ada@example.com.").waitFor();
  await page.getByText("Use at least 12 characters. You entered 9.").waitFor();
});

test("signs a newcomer up and shows the first steps", async () => {
  await page.getByLabel("Name").fill(visitor.name);
  await page.getByLabel("Email").fill(visitor.email);
  await mainPassword().fill(visitor.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: "Quick start" }).waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/w\/[a-z0-9-]+$/);
  expect(await page.title()).toContain("Latchkey");
});

test("opens the API keys from the account menu", async () => {
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menu", { name: "Account menu" }).getByText(visitor.email).waitFor();
  await page.getByRole("menuitem", { name: "Your API keys" }).click();
  await page.getByRole("heading", { name: "Your API keys", exact: true }).waitFor();
  await page.getByText("No API keys yet").waitFor();
});

test("rejects a key without a name, with an error under the field", async () => {
  await page.getByRole("button", { name: "New API key" }).click();
  await dialog().getByRole("button", { name: "Create key" }).click();
  await dialog().getByText("Enter a name").waitFor();
  const review = dialog().getByRole("region", { name: "Review" });
  await review.getByText("All workspaces, including future ones").waitFor();
  await review.getByText("In 90 days").waitFor();
});

test.each([375, 1440])(
  "keeps the button that creates a key in view in a window of %i × 600",
  async (width) => {
    const initial = page.viewportSize();
    await page.setViewportSize({ width, height: 600 });
    const hidden = await dialog().evaluate((element) => {
      element.scrollTo(0, 0);
      return element.scrollHeight - element.clientHeight;
    });
    expect(hidden).toBeGreaterThan(0);
    const box = await dialog().getByRole("button", { name: "Create key" }).boundingBox();
    expect(box?.y).toBeGreaterThan(0);
    expect(box && box.y + box.height).toBeLessThanOrEqual(600);
    if (initial) await page.setViewportSize(initial);
  },
);

test("shows a new key once, ready to copy", async () => {
  await dialog().getByLabel("Name").fill("Nightly backup");
  await dialog().getByLabel("Description").fill("Build server, 02:00");
  await dialog().getByRole("button", { name: "Create key" }).click();
  const field = dialog().getByRole("textbox", { name: "API key" });
  key = await field.inputValue();
  expect(key).toMatch(/^lk_[A-Za-z0-9]{30,}$/);
  expect(await field.getAttribute("readonly")).not.toBeNull();
  await dialog().getByText("won’t be shown again").waitFor();

  await dialog().getByRole("button", { name: "Copy API key" }).click();
  await dialog().getByText("Copied").first().waitFor();
  expect(await readClipboard(page)).toBe(key);
});

test("keeps the secret out of URLs and caches while it is shown", async () => {
  const caches = await readQueryCaches(page);
  expect(caches).toContain("apiKeys");
  expect(caches).not.toContain(key);
  expect(await page.evaluate("location.href + JSON.stringify(history.state)")).not.toContain(key);
});

test("shows a curl command that works unchanged", async () => {
  await dialog().getByRole("button", { name: "Copy command" }).click();
  const command = await readClipboard(page);
  expect(command).toBe(`curl ${environment.baseUrl}/open/global/config -H "Authorization: Bearer ${key}"`);
});

test("can't show the secret again after the dialog is closed or the page is reloaded", async () => {
  await dialog().getByRole("button", { name: "Done" }).click();
  await row("Nightly backup").waitFor();
  expect(await page.content()).not.toContain(key);
  await page.reload();
  await row("Nightly backup").waitFor();
  expect(await page.content()).not.toContain(key);
  expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toContain(key);
});

test("updates the number of uses while the page is open", async () => {
  const cells = row("Nightly backup").getByRole("cell");
  const start = (await cells.getByText(/^lk_\w{3,9}…$/).textContent()) ?? "";
  expect(key).toContain(start.slice(0, -1));
  const facts = await cells.allTextContents();
  expect(facts).toContain("Active");
  // The key was never used, and expires after the suggested lifetime.
  expect(facts.filter((text) => text === "Never")).toHaveLength(1);
  await cells.getByText("0", { exact: true }).waitFor();
  for (const _ of [1, 2, 3]) expect((await callOpenApi(environment.baseUrl, key)).status).toBe(200);
  await cells.getByText("3", { exact: true }).waitFor();
  await expect
    .poll(async () => (await cells.allTextContents()).filter((text) => text === "Never").length)
    .toBe(0);
});

test("edits name and description, which doesn't count as a use", async () => {
  await page.getByRole("button", { name: "Edit Nightly backup" }).click();
  await untilFocused(dialog());
  await dialog().getByLabel("Name").fill("Backup");
  await dialog().getByLabel("Description").fill("Moved to the new server");
  await dialog().getByRole("button", { name: "Save" }).click();
  await row("Backup").getByText("Moved to the new server").waitFor();
  await page.waitForResponse((response) => response.url().includes("apiKeys.list"));
  await row("Backup").getByRole("cell", { name: "3", exact: true }).waitFor();
});

test("opens a key's page on a click anywhere in its row except on Delete", async () => {
  await row("Backup").getByRole("cell", { name: "3", exact: true }).click();
  await page.getByRole("heading", { name: "Backup", level: 1 }).waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/account\/api-keys\/key_[a-z0-9]+$/);
  await page.goBack();
  await page.getByRole("button", { name: "Delete Backup" }).click();
  await page.getByRole("dialog", { name: "Delete “Backup”?" }).waitFor();
  await dialog().getByRole("button", { name: "Cancel" }).click();
});

test("finds a key among many and keeps the search in the URL", async () => {
  for (let number = 1; number <= 30; number += 1) await createKey(page, `Robot ${number}`);
  await page.getByText("1–25 of 31 keys").first().waitFor();
  await page.getByRole("searchbox", { name: "Search API keys" }).fill("backup");
  await page.getByText("1 key", { exact: true }).waitFor();
  expect(new URL(page.url()).search).toBe("?q=backup");
  await page.reload();
  await row("Backup").waitFor();
  await page.getByRole("searchbox", { name: "Search API keys" }).fill("no such key");
  await page.getByText("No key matches “no such key”").waitFor();
  await page.getByRole("button", { name: "Clear search" }).click();
  await page.getByText("1–25 of 31 keys").first().waitFor();
});

test("shows the newest key first, and the others on further pages", async () => {
  expect(await page.getByRole("rowheader").first().textContent()).toBe("Robot 30");
  await page.getByRole("button", { name: "Next page" }).first().click();
  await page.getByText("26–31 of 31 keys").first().waitFor();
  expect(new URL(page.url()).search).toBe("?page=2");
  await row("Backup").waitFor();
  // The choice of columns keeps the page, and adds nothing to the browser's history.
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Expires" }).click();
  await page.waitForURL("**?page=2&columns=*");
  await page.keyboard.press("Escape");
  await page.goBack();
  await page.getByText("1–25 of 31 keys").first().waitFor();
  expect(new URL(page.url()).search).toBe("");
  await page.goForward();
  await page.getByText("26–31 of 31 keys").first().waitFor();
});

test("opens the last page if the URL has a later one", async () => {
  await page.goto(`${environment.baseUrl}/account/api-keys?page=9`);
  await page.getByText("26–31 of 31 keys").first().waitFor();
  await page.waitForURL("**?page=2");
});

test("names the consequences and the last use before a deletion", async () => {
  await page.getByRole("button", { name: "Delete Backup" }).click();
  await dialog().getByRole("heading", { name: "Delete “Backup”?" }).waitFor();
  const words = await dialog().textContent();
  expect(words).toContain("Requests with this key are rejected immediately.");
  expect(words).toMatch(/Last used\s*(just now|\d+ s ago|\d+ min ago) \(.*\d{4}.*\)/);
  expect(words).toMatch(/Used\s*3 times/);
  await dialog().getByRole("button", { name: "Cancel" }).click();
  await dialog().waitFor({ state: "detached" });
  expect((await callOpenApi(environment.baseUrl, key)).status).toBe(200);
});

test("rejects a key from the moment its deletion is confirmed", async () => {
  await page.getByRole("button", { name: "Delete Backup" }).click();
  await dialog().getByRole("button", { name: "Delete key", exact: true }).click();
  await page.getByText("“Backup” was deleted").waitFor();
  const rejection = await callOpenApi(environment.baseUrl, key);
  expect(rejection.status).toBe(403);
  expect(await rejection.json()).toMatchObject({
    error: { code: "FORBIDDEN", message: "Insufficient access" },
  });
  await row("Backup").waitFor({ state: "detached" });
});

test("signs out, and returns to the requested page after signing in again", async () => {
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  // An account exists now.
  await page.getByRole("link", { name: "Create an account" }).waitFor();
  await page.goto(environment.baseUrl);
  await page.waitForURL("**/sign-in");
  await page.goto(`${environment.baseUrl}/account/api-keys?q=robot`);
  await page.getByLabel("Email").fill(visitor.email);
  await mainPassword().fill("a wrong password");
  const complaintsBefore = complaints.length;
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("The email address or password is wrong.").waitFor();
  // The browser itself reports the 401.
  expect(complaints.slice(complaintsBefore)).toEqual([expect.stringContaining("401")]);
  await mainPassword().fill(visitor.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("1–25 of 30 keys").first().waitFor();
  expect(page.url()).toBe(`${environment.baseUrl}/account/api-keys?q=robot`);
});

test("caused no browser error during the whole visit", () => {
  expect(complaints.filter((complaint) => !complaint.includes("401"))).toEqual([]);
});
