import type { Page } from "playwright-core";
import { expect, test, vi } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { callOpenApi, signUp, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { untilFocused } from "./until-focused.ts";

// The pages about a workspace that has been used, and the user's own security log: with axe, and by keyboard alone.

let page: Page;
let slug: string;

const environment = prepareEnvironment(async ({ browser, baseUrl, command, change }) => {
  ({ page } = await browser.open({ viewport: { width: 1280, height: 800 } }));
  await signUp(page, baseUrl);
  const workspace = await getWorkspace(page);
  ({ slug } = workspace);
  const email = "grace@example.com";
  await command(
    ["user", "create", "--email", email, "--name", "Grace Hopper", "--password-stdin"],
    visitor.password,
  );
  await command(["member", "add", "--workspace", workspace.id, "--user", email, "--role", "admin"]);
  const { apiKeys } = proceduresOf(page);
  const { key } = await apiKeys.create.mutate({
    name: "Deploy",
    settings: { expiresAt: { inSeconds: 86_400 } },
  });
  await callOpenApi(baseUrl, key);
  const call = (secret: string) =>
    fetch(`${baseUrl}/open/workspaces/${workspace.id}`, { headers: { Authorization: `Bearer ${secret}` } });
  await call(key);
  await apiKeys.create.mutate({ name: "Backup", settings: { isDisabled: true } });
  const restricted = await apiKeys.create.mutate({
    name: "Auditor",
    settings: { permissions: ["audit:read"] },
  });
  await call(restricted.key);
  await apiKeys.delete.mutate({ id: restricted.id });
  const { id } = await apiKeys.create.mutate({ name: "Rotating" });
  await apiKeys.rotate.mutate({ id, overlapSeconds: 86_400 });
  await apiKeys.create.mutate({ name: "Forgotten" });
  await change("update api_keys set created_at = now() - interval '31 days' where name = 'Forgotten'");
});

async function readFocus(): Promise<string> {
  const snapshot = await page.locator(":focus").ariaSnapshot();
  return snapshot.split("\n")[0] ?? "";
}

/** Presses Tab, at most 60 times, until the focused element's role and name include `name`. */
async function tabTo(name: string): Promise<void> {
  const passed: string[] = [];
  for (let count = 0; count < 60; count += 1) {
    await page.keyboard.press("Tab");
    const focus = await readFocus();
    if (focus.includes(name)) return;
    passed.push(focus);
  }
  throw new Error(`Tab does not reach ${name}, only:\n${passed.join("\n")}`);
}

test.each([
  ["the overview", (): string => `/w/${slug}`, "Busiest API keys"],
  ["the keys of the workspace", (): string => `/w/${slug}/api-keys`, "Rotating"],
  ["the members", (): string => `/w/${slug}/members`, "Grace Hopper"],
  ["the profile", (): string => "/account/profile", "Current password"],
  ["the security log", (): string => "/account/security", "Rotated the API key"],
] as const)("axe finds nothing on %s, in light and dark, wide and narrow", async (_name, path, text) => {
  await page.goto(environment.baseUrl + path());
  await page.getByText(text).first().waitFor();
  await page.waitForLoadState("networkidle");
  const found: Record<number, readonly string[]> = {};
  for (const width of [1280, 375]) {
    await page.setViewportSize({ width, height: 800 });
    const problems = await findProblemsInBothSchemes(page);
    if (problems.length > 0) found[width] = problems;
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  expect(found).toEqual({});
});

test("the overview lists keys that need attention and recent changes, and its chart has a range", async () => {
  await page
    .getByRole("navigation", { name: "Main" })
    .getByRole("link", { name: "Overview", exact: true })
    .click();
  const items = (title: string) => page.getByRole("region", { name: title }).getByRole("listitem");
  await items("API keys that expire within 30 days").filter({ hasText: "Deploy" }).waitFor();
  expect(await items("API keys that expire within 30 days").count()).toBe(1);
  await items("Unused API keys")
    .filter({ hasText: "Forgotten" })
    .getByText("Not used here recently")
    .waitFor();
  expect(await items("Unused API keys").count()).toBe(1);
  await items("Recent activity").filter({ hasText: "Rotating" }).first().waitFor();
  const busiest = items("Busiest API keys").filter({ hasText: "Deploy" });
  await busiest.getByText("1 use").waitFor();
  await page.setViewportSize({ width: 230, height: 800 });
  const [name, count, item] = await Promise.all(
    [busiest.locator("div"), busiest.getByText("1 use"), busiest].map((part) => part.boundingBox()),
  );
  if (!name || !count || !item) throw new Error("The key isn't shown.");
  // Even below the name, the count is on the right, in front of the padding.
  expect(count.y).toBeGreaterThanOrEqual(name.y + name.height);
  expect(item.x + item.width - count.x - count.width).toBeCloseTo(16, 0);
  await page.setViewportSize({ width: 1280, height: 800 });
  const sum = "by outcome, 1 allowed, 0 rate limited, 1 rejected";
  await page.getByRole("img", { name: `Requests in the last 24 hours ${sum}` }).waitFor();
  const reasons = page.getByRole("heading", { name: "Rejected requests by reason" }).locator("..");
  await reasons.getByRole("term").getByText("Permission not allowed").waitFor();
  expect(await reasons.getByRole("definition").allTextContents()).toEqual(["1"]);
  await page.getByRole("group", { name: "Period" }).getByRole("button", { name: "7 days" }).click();
  await page.waitForURL(`**/w/${slug}?range=7d`);
  await page.getByRole("img", { name: `Requests in the last 7 days ${sum}` }).waitFor();
});

test("every chart states the reader's time zone, and its hours and days are in this time zone", async () => {
  // No hour of it is the same hour in UTC, and for 14 hours per day, it is the next day.
  const timeZone = "Pacific/Kiritimati";
  const storageState = await page.context().storageState();
  const { page: abroad } = await environment.browser.open({ storageState, timezoneId: timeZone });
  const { apiKeys } = proceduresOf(page);
  const { id, lastUsedAt } = await vi.waitUntil(async () => {
    const { items } = await apiKeys.list.query({ search: "Deploy" });
    return items.find((key) => key.lastUsedAt !== null);
  }, 30_000);
  const start = new Date(lastUsedAt ?? "");
  start.setUTCMinutes(0, 0, 0);
  const timeOf = (time: Date) => time.toLocaleTimeString("en-GB", { timeStyle: "short", timeZone });
  const hour = `${timeOf(start)}–${timeOf(new Date(start.getTime() + 3_600_000))}`;
  const day = start.toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
    year: "numeric",
    timeZone,
  });
  for (const path of [`/w/${slug}`, `/account/api-keys/${id}`])
    for (const [query, table, title] of [
      ["", "Requests by hour", hour],
      ["?range=7d", "Requests by day", day],
    ] as const) {
      await abroad.goto(environment.baseUrl + path + query);
      await abroad.getByRole("main").getByText(`Time zone: ${timeZone}`, { exact: true }).waitFor();
      await abroad.getByRole("button", { name: "Show as a table" }).click();
      const titles = abroad.getByRole("table", { name: table }).getByRole("rowheader");
      await titles.filter({ hasText: title }).waitFor();
    }
});

test("shows exact times after a choice made by keyboard", async () => {
  await page.goto(`${environment.baseUrl}/w/${slug}/audit`);
  await page.getByText("created the workspace").first().waitFor();
  await page.getByRole("button", { name: "Account menu" }).focus();
  await page.keyboard.press("Enter");
  await untilFocused(page.getByRole("menu"));
  const choice = page.getByRole("menuitemcheckbox", { name: "Exact times" });
  for (let count = 0; count < 8; count += 1) {
    if (await choice.and(page.locator(":focus")).count()) break;
    await page.keyboard.press("ArrowDown");
  }
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  const year = String(new Date().getFullYear());
  await expect.poll(() => page.getByRole("main").locator("time").first().textContent()).toContain(year);
  await page.reload();
  await expect.poll(() => page.getByRole("main").locator("time").first().textContent()).toContain(year);
  await page.evaluate("localStorage.removeItem('latchkey.exact-times')");
});

test("searches and sorts the keys of the workspace, and chooses columns, by keyboard", async () => {
  await page.goto(`${environment.baseUrl}/w/${slug}/api-keys`);
  await page.getByText("Rotating").first().waitFor();
  await page.getByRole("searchbox").focus();
  await page.keyboard.type("deploy");
  await page.getByRole("main").getByRole("link", { name: "Rotating" }).waitFor({ state: "detached" });
  await tabTo("Columns");
  await page.keyboard.press("Enter");
  await page.getByRole("menuitemcheckbox").first().and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Escape");
  await expect.poll(readFocus).toContain("Columns");
  await tabTo("Expires");
  await page.keyboard.press("Enter");
  await page.waitForURL(/sort=/);
});

test("disables several keys by keyboard, and continues in the list", async () => {
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("checkbox", { name: "Select Deploy" }).focus();
  await page.keyboard.press("Space");
  await page.getByText("1 key selected").waitFor();
  await page.getByRole("checkbox", { name: "Select Rotating" }).focus();
  await page.keyboard.press("Space");
  await page.getByText("2 keys selected").waitFor();
  await page.getByRole("button", { name: "Disable", exact: true }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Disable 2 keys?" });
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Disable", exact: true }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Enter");
  await dialog.waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await tabTo("Disable 2 keys");
  await page.keyboard.press("Enter");
  await page.getByText("2 keys were disabled.").waitFor();
  await dialog.waitFor({ state: "detached" });
  expect(await page.evaluate("document.activeElement.id")).toBe("content");
});
