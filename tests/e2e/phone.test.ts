import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { callOpenApi, createKey, signUp } from "../support/visitor.ts";
import { prepareEnvironment } from "./environment.ts";

let page: Page;

const environment = prepareEnvironment(async ({ browser }) => {
  const viewport = { width: 375, height: 667 };
  ({ page } = await browser.open({ viewport, isMobile: true, hasTouch: true }));
});

/** Returns how many pixels of the page are beyond its right edge. */
async function readOverflow(): Promise<unknown> {
  return await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

const longWord = "averyveryverylongnamewithoutasinglespaceinitthatcouldpushthepagewide".repeat(1);

test("fits sign-in and sign-up", async () => {
  await page.goto(`${environment.baseUrl}/sign-in`);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  expect(await readOverflow()).toBe(0);
  await signUp(page, environment.baseUrl);
  expect(await readOverflow()).toBe(0);
});

test("reaches the API keys through the drawer", async () => {
  await page.getByRole("button", { name: "Open navigation" }).tap();
  await page.getByRole("dialog").getByRole("link", { name: "Your API keys" }).tap();
  await page.getByText("No API keys yet").waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await readOverflow()).toBe(0);
});

test("creates a key and shows all of its secret", async () => {
  await page.getByRole("button", { name: "New API key" }).tap();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Phone");
  await dialog.getByRole("button", { name: "Create key" }).tap();
  const field = dialog.getByRole("textbox", { name: "API key" });
  await field.waitFor();
  expect(await readOverflow()).toBe(0);
  expect(await field.evaluate((area) => area.scrollWidth - area.clientWidth)).toBe(0);
  expect(await field.evaluate((area) => area.scrollHeight - area.clientHeight)).toBeLessThanOrEqual(0);
  const box = await dialog.getByRole("button", { name: "Done" }).boundingBox();
  expect(box && box.y + box.height).toBeLessThan(667);
  await dialog.getByRole("button", { name: "Done" }).tap();
  await dialog.getByText("You haven’t copied the API key").waitFor();
  expect(await readOverflow()).toBe(0);
  await dialog.getByRole("button", { name: "Done" }).tap();
});

test("shows keys as cards, even with long names, and updates their uses", async () => {
  const key = await createKey(page, longWord, longWord);
  await page.getByRole("listitem").filter({ hasText: longWord }).waitFor();
  expect(await readOverflow()).toBe(0);
  await callOpenApi(environment.baseUrl, key);
  await page.getByRole("listitem").filter({ hasText: longWord }).getByText("1", { exact: true }).waitFor();
});

test("shows the exact time on a tap, which doesn't open the key", async () => {
  const time = page.getByRole("listitem").filter({ hasText: longWord }).locator("time");
  const exact = page.getByRole("tooltip").getByText(String(new Date().getFullYear()));
  // The list is fetched again after the key was created, which can close the tooltip.
  const isShown = async () => {
    await time.tap();
    return await exact.waitFor({ timeout: 2_000 }).then(
      () => true,
      () => false,
    );
  };
  await expect.poll(isShown).toBe(true);
  expect(new URL(page.url()).pathname).toBe("/account/api-keys");
});

test("sorts cards, which have no column headers", async () => {
  await page.getByRole("combobox", { name: "Sort by" }).tap();
  await page.getByRole("option", { name: "Name, Z to A" }).tap();
  await page.waitForURL("**?sort=-name");
  await page.getByRole("listitem").filter({ hasText: longWord }).waitFor();
});

test("fits a key's page, its restrictions and its table", async () => {
  await page.getByRole("link", { name: longWord }).tap();
  await page.getByRole("heading", { name: longWord, level: 1 }).waitFor();
  await page.getByRole("button", { name: "Show as a table" }).tap();
  await page.getByRole("button", { name: "Edit restrictions" }).tap();
  await page.getByRole("radio", { name: "Selected permissions" }).check();
  expect(await readOverflow()).toBe(0);
  await page.goBack();
  await page.getByRole("button", { name: "Discard" }).tap();
  await page.getByRole("listitem").filter({ hasText: longWord }).waitFor();
});

test("deletes a key", async () => {
  await page.getByRole("button", { name: `Delete ${longWord}` }).tap();
  const confirm = page.getByRole("dialog").getByRole("button", { name: "Delete key", exact: true });
  await confirm.waitFor();
  expect(await readOverflow()).toBe(0);
  await confirm.tap();
  await page.getByText("1 key", { exact: true }).waitFor();
});

test("makes all touch targets at least 28 px wide and high", async () => {
  const sizes = await page.getByRole("button").evaluateAll((buttons) =>
    buttons.map((button) => {
      const { width, height } = button.getBoundingClientRect();
      return { name: button.getAttribute("aria-label") ?? button.textContent, side: Math.min(width, height) };
    }),
  );
  expect(sizes.filter(({ side }) => side > 0 && side < 28)).toEqual([]);
});
