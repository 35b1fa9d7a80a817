import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { scrollUntil } from "../support/scroll-until.ts";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

// Long external IDs on a phone, where cards replace the rows of tables.

const short = "customer_42";
const uuid = "6f1c2b7e-9d0a-4c1e-8a55-0f7de3a1b2c3";
const longest = "0123456789abcdef".repeat(8);
const longName = "Integration of the European warehouse and its suppliers";

/** The height of a line of text in a card. */
const lineHeightPixels = 20;

let page: Page;
let keyspace: string;

prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page } = await browser.open({ viewport: { width: 375, height: 667 } }));
  await enter(page, baseUrl);
  const { id: workspaceId, slug } = await getWorkspace(page);
  const { keyspaces, issuedKeys } = proceduresOf(page);
  const fields = { name: "Production", prefix: "sk_live" };
  const { id: keyspaceId } = await keyspaces.create.mutate({ workspaceId, fields });
  for (const externalId of [short, uuid, longest])
    await issuedKeys.create.mutate({ workspaceId, keyspaceId, fields: { name: "Key", externalId } });
  await issuedKeys.create.mutate({ workspaceId, keyspaceId, fields: { name: longName } });
  keyspace = `${baseUrl}/w/${slug}/keyspaces/${keyspaceId}`;
});

const cards = () => page.getByRole("main").getByRole("listitem");
const linkTo = (externalId: string) => cards().getByRole("link", { name: externalId, exact: true });

/** Returns the number of lines that the link shows, and the share of its card's width that it can use. */
async function measure(externalId: string): Promise<{ readonly lines: number; readonly share: number }> {
  return await linkTo(externalId).evaluate((link, lineHeight) => {
    const [card, cell] = [link.closest("li"), link.parentElement];
    if (!card || !cell) throw new Error("The link is in no card.");
    return {
      lines: Math.round(link.getBoundingClientRect().height / lineHeight),
      share: Math.round((cell.clientWidth / card.clientWidth) * 10) / 10,
    };
  }, lineHeightPixels);
}

test("in a card of a key, a long external ID takes a whole line, and at most two", async () => {
  await page.goto(keyspace);
  await linkTo(short).waitFor();
  expect(await measure(short)).toMatchObject({ lines: 1, share: 0.4 });
  expect(await measure(uuid)).toMatchObject({ lines: 1, share: 0.9 });
  expect(await measure(longest)).toMatchObject({ lines: 2, share: 0.9 });
  expect(await linkTo(longest).getAttribute("title")).toBe(longest);
});

test("as the title of a card, a long external ID takes at most two lines", async () => {
  await page.goto(`${keyspace}/consumers`);
  await linkTo(short).waitFor();
  expect(await measure(short)).toMatchObject({ lines: 1 });
  expect(await measure(longest)).toMatchObject({ lines: 2 });
  expect(await linkTo(longest).getAttribute("title")).toBe(longest);
});

test("in a table, a long name ends with an ellipsis, and shows its title", async () => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(keyspace);
  const name = page.getByRole("row").getByRole("link", { name: longName, exact: true });
  await name.waitFor();
  // Boxes of other kinds clip text without an ellipsis.
  const style = `getComputedStyle(document.querySelector('a[title="${longName}"]'))`;
  expect(await page.evaluate(`[${style}.display, ${style}.textOverflow]`)).toEqual(["block", "ellipsis"]);
  const [overflow = 0, height] = await name.evaluate((link) => [
    link.scrollWidth - link.clientWidth,
    link.getBoundingClientRect().height,
  ]);
  expect(overflow).toBeGreaterThan(0);
  expect(height).toBe(lineHeightPixels);
  expect(await name.getAttribute("title")).toBe(longName);
  await page.setViewportSize({ width: 375, height: 667 });
  await page.goto(`${keyspace}/consumers`);
});

test("the page of the consumer shows all of it, and copies it", async () => {
  await linkTo(longest).click();
  await page.getByRole("heading", { name: longest, level: 1 }).waitFor();
  await page.getByRole("button", { name: "Copy external ID" }).waitFor();
  const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
  expect(await page.evaluate(overflow)).toBe(0);
});

test("a dialog about the consumer breaks its title, and keeps its close button in view", async () => {
  await scrollUntil(page.getByRole("button", { name: "Disable all keys" }));
  await page.getByRole("button", { name: "Disable all keys" }).click();
  const dialog = page.getByRole("dialog");
  const title = dialog.getByRole("heading", { name: longest });
  const close = dialog.getByRole("button", { name: "Close", exact: true });
  for (const part of [title, close]) {
    const box = await part.boundingBox();
    expect(box && box.x + box.width).toBeLessThan(375);
  }
  expect(await dialog.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0);
});
