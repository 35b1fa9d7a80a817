import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { callOpenApi, readClipboard, visitor } from "../support/visitor.ts";
import { prepareEnvironment } from "./environment.ts";
import { untilFocused } from "./until-focused.ts";

let page: Page;

const environment = prepareEnvironment(async ({ browser }) => {
  ({ page } = await browser.open());
});

const tabsAtMost = 40;

/** Returns the role and name of the focused element, as assistive technology reads them. */
async function readFocus(): Promise<string> {
  const snapshot = await page.locator(":focus").ariaSnapshot();
  return snapshot.split("\n")[0] ?? "";
}

/** Presses Tab until the focused element's role and name include `words`. */
async function tabTo(words: string): Promise<void> {
  const passed: string[] = [];
  while (passed.length < tabsAtMost) {
    await page.keyboard.press("Tab");
    const focus = await readFocus();
    if (focus.includes(words)) return;
    passed.push(focus);
  }
  throw new Error(`Tab does not lead to ${words}, only to:\n${passed.join("\n")}`);
}

test("signs up by keyboard alone", async () => {
  await page.goto(`${environment.baseUrl}/sign-up`);
  await page.locator("input:focus").waitFor();
  await page.keyboard.type(visitor.name);
  await page.keyboard.press("Tab");
  await page.keyboard.type(visitor.email);
  await page.keyboard.press("Tab");
  await page.keyboard.type("short");
  await page.keyboard.press("Enter");
  await page.getByText("Use at least 12 characters").waitFor();
  // The invalid field has the focus.
  await page.keyboard.press("Control+a");
  await page.keyboard.type(visitor.password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Quick start" }).waitFor();
});

test("skips to the content", async () => {
  await page.getByText("New API key").waitFor();
  await page.keyboard.press("Tab");
  expect(await readFocus()).toContain("Skip to content");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  expect(await readFocus()).toContain("New API key");
});

test("opens the API keys from the account menu", async () => {
  await page.getByRole("button", { name: "Account menu" }).focus();
  await page.keyboard.press("Enter");
  await untilFocused(page.getByRole("menu"));
  await page.getByRole("menuitem", { name: "Your API keys" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("menuitem", { name: "Profile" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("menuitem", { name: "Security" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("menuitem", { name: "Notices" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("menuitemradio", { name: "System" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.getByText("No API keys yet").waitFor();
});

test("creates and copies a key, with the focus on the next step", async () => {
  await page.getByRole("button", { name: "New API key" }).focus();
  await page.keyboard.press("Enter");
  await untilFocused(page.getByRole("dialog"));
  await page.keyboard.type("Laptop");
  await page.keyboard.press("Tab");
  await page.keyboard.type("Experiments");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("textbox", { name: "API key" }).waitFor();
  expect(await readFocus()).toContain("Copy API key");
  await page.keyboard.press("Enter");
  await page.getByText("Copied").first().waitFor();
  const key = await readClipboard(page);
  expect((await callOpenApi(environment.baseUrl, String(key))).status).toBe(200);
  await tabTo("Done");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

test("asks before Escape discards a key that was not copied", async () => {
  await page.getByRole("button", { name: "New API key" }).focus();
  await page.keyboard.press("Enter");
  await page.locator("input:focus").waitFor();
  await page.keyboard.type("Scratch");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "API key" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("You haven’t copied the API key").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

test("edits a key and returns the focus to the button", async () => {
  await page.getByRole("searchbox").focus();
  await tabTo("Edit Laptop");
  await page.keyboard.press("Enter");
  await page.locator("input:focus").waitFor();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("Workstation");
  await page.keyboard.press("Enter");
  await page.getByRole("rowheader", { name: "Workstation" }).waitFor();
  await page.getByRole("button", { name: "Edit Workstation" }).and(page.locator(":focus")).waitFor();
});

test("deletes a key, but not with Enter alone", async () => {
  await tabTo("Delete Workstation");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Cancel" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Delete Workstation" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Enter");
  await untilFocused(page.getByRole("dialog"));
  await tabTo('button "Delete key"');
  await page.keyboard.press("Enter");
  await page.getByText("“Workstation” was deleted").waitFor();
  await page.locator("main:focus").waitFor();
});

test("Ctrl+K opens the search above a dialog, and Escape closes only the search", async () => {
  const search = page.getByRole("dialog", { name: "Search" });
  // The elements of a dialog that was open before precede those of a dialog that opens for the first time.
  await page.reload();
  await page.getByRole("button", { name: "New API key" }).waitFor();
  await page.keyboard.press("Control+k");
  await untilFocused(search);
  await page.keyboard.press("Escape");
  await search.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "New API key" }).press("Enter");
  const form = page.getByRole("dialog", { name: "New API key" });
  await untilFocused(form);
  await page.keyboard.type("Kept");
  await page.keyboard.press("Control+k");
  await untilFocused(search);
  await search.getByRole("option").first().click({ trial: true });
  // What can't be chosen doesn't take the focus from the field, which handles Escape.
  await search.getByText("Actions", { exact: true }).click();
  await page.keyboard.press("Escape");
  await search.waitFor({ state: "detached" });
  await form.getByLabel("Name").and(page.locator(":focus")).waitFor();
  expect(await form.getByLabel("Name").inputValue()).toBe("Kept");
  await form.getByRole("button", { name: "Cancel" }).press("Enter");
  await form.waitFor({ state: "detached" });
});

test("finds keys, pages and actions with Ctrl+K", async () => {
  await page.keyboard.press("Control+k");
  await page.locator("input:focus").waitFor();
  await page.keyboard.type("scratch");
  await page.getByRole("option", { name: "Scratch", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/account/api-keys/key_*");
  await page.getByRole("heading", { name: "Scratch", level: 1 }).waitFor();

  await page.keyboard.press("Control+k");
  await page.locator("input:focus").waitFor();
  await page.keyboard.type("new");
  await page.getByRole("option", { name: "New API key", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "New API key" }).waitFor();
  await page.getByRole("textbox", { name: "Name" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  await page.keyboard.press("Control+k");
  await page.locator("input:focus").waitFor();
  await page.keyboard.type("sign out");
  await page.getByRole("option", { name: "Sign out", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
});
