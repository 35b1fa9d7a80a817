import type { Locator, Page, Response } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { scrollUntil } from "../support/scroll-until.ts";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { failCalls } from "./fail-calls.ts";
import { gapBetween } from "./gap-between.ts";
import { holdCall } from "./hold-call.ts";
import { returnToTab } from "./return-to-tab.ts";
import { untilFocused } from "./until-focused.ts";

// Ada owns a workspace. Linus is a member, and his key works there. Each test continues where the previous one ended.

let ada: Page;
let linus: Page;
let workspace: Awaited<ReturnType<typeof getWorkspace>>;
let key: { readonly id: string; readonly key: string };

const environment = prepareEnvironment(async ({ browser, baseUrl, command }) => {
  ({ page: ada } = await browser.open({ viewport: { width: 1280, height: 900 } }));
  await enter(ada, baseUrl);
  workspace = await getWorkspace(ada);
  ({ page: linus } = await browser.open({ viewport: { width: 1280, height: 900 } }));
  const email = "linus@example.com";
  await enter(linus, baseUrl, email);
  await command(["member", "add", "--workspace", workspace.id, "--user", email, "--role", "member"]);
  key = await proceduresOf(linus).apiKeys.create.mutate({ name: "Nightly sync" });
  const settings = { expiresAt: { inSeconds: 86_400 } };
  await proceduresOf(linus).apiKeys.create.mutate({ name: "Short-lived", settings });
  await proceduresOf(ada).apiKeys.create.mutate({ name: "Office display", settings });
});

const addressOf = (page: string) => `${environment.baseUrl}/w/${workspace.slug}/${page}`;
const dialogOf = (page: Page) => page.getByRole("dialog");
/** The part of a secret that lists show. */
const startOf = (secret: string) => secret.slice(0, 9);
const rowOf = (name: string) => ada.getByRole("row").filter({ hasText: name });

async function useKey(): Promise<number> {
  const headers = { Authorization: `Bearer ${key.key}` };
  return (await fetch(`${environment.baseUrl}/open/workspaces/${workspace.id}`, { headers })).status;
}

async function expectAccessible(page: Page): Promise<void> {
  for (const width of [1280, 375]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    const { scrollWidth } = (await page.evaluate(
      "({ scrollWidth: document.documentElement.scrollWidth })",
    )) as { readonly scrollWidth: number }; // The object of the expression.
    expect(scrollWidth).toBeLessThanOrEqual(width);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

test("an owner sees the keys of all members with their use in the workspace", async () => {
  expect(await useKey()).toBe(200);
  await ada.setViewportSize({ width: 1440, height: 900 });
  await ada.goto(addressOf("api-keys"));
  for (const name of ["Restrictions", "Expires", "Last used here", "Uses (30 days)"])
    await ada.getByRole("columnheader", { name, exact: true }).waitFor();
  await rowOf("Nightly sync")
    .getByRole("rowheader", { name: `Nightly sync ${startOf(key.key)}…` })
    .waitFor();
  await rowOf("Nightly sync")
    .getByRole("cell", { name: /^(This hour|In the last 2 hours)$/ })
    .waitFor();
  await rowOf("Nightly sync").getByRole("cell", { name: "1", exact: true }).waitFor();
  await rowOf("Short-lived").getByRole("cell", { name: "Not recently", exact: true }).waitFor();
  await rowOf("Short-lived").getByRole("cell", { name: "0", exact: true }).waitFor();
  await rowOf("Office display").waitFor();
  await ada.setViewportSize({ width: 1280, height: 900 });
});

test("the longest time of a last use isn’t cut", async () => {
  // In a context of its own, because all pages of a context have the same clock.
  const storageState = await ada.context().storageState();
  const { page: later } = await environment.browser.open({ storageState });
  const { items } = await proceduresOf(ada).workspaceKeys.list.query({ workspaceId: workspace.id });
  const hourOfUse = items.find(({ name }) => name === "Nightly sync")?.lastUsedAt ?? "";
  await later.clock.setFixedTime(Date.parse(hourOfUse) + 90 * 60_000);
  await later.setViewportSize({ width: 1440, height: 900 });
  await later.goto(addressOf("api-keys"));
  const cell = later.getByRole("cell", { name: "In the last 2 hours" });
  await cell.waitFor();
  expect(await cell.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  await later.getByRole("columnheader", { name: "Restrictions", exact: true }).waitFor();
});

test("an owner blocks a key, and the key's page shows its owner who blocked it", async () => {
  await ada.getByRole("button", { name: "Block Nightly sync" }).click();
  const dialog = dialogOf(ada);
  await dialog.getByText("immediately rejects this key").waitFor();
  await dialog
    .getByRole("definition")
    .getByText(/^(This hour|In the last 2 hours)$/)
    .waitFor();
  await expectAccessible(ada);
  await dialog.getByRole("button", { name: "Block key" }).click();
  await ada.getByText("1 key was blocked.").waitFor();
  await ada.locator("#content:focus").waitFor();
  await rowOf("Nightly sync").getByText("Blocked here").waitFor();
  expect(await useKey()).toBe(403);

  await linus.goto(`${environment.baseUrl}/account/api-keys/${key.id}`);
  await linus.getByText("blocked this key.").waitFor();
  await linus.getByText(/Ada Lovelace blocked it.* Other workspaces are not affected\.$/).waitFor();
  await linus.getByText("Blocked from the workspace").first().waitFor();
  await expectAccessible(linus);
});

test("only the keys that an owner can open look like links", async () => {
  const cursorOf = (row: Locator) =>
    row.evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).cursor);
  const cards = ada.getByRole("list", { name: "API keys" }).getByRole("listitem");
  await ada.goto(addressOf("api-keys"));
  await rowOf("Office display").waitFor();
  expect(await cursorOf(rowOf("Office display"))).toBe("pointer");
  expect(await cursorOf(rowOf("Nightly sync"))).toBe("auto");
  await ada.setViewportSize({ width: 375, height: 900 });
  expect(await cursorOf(cards.filter({ hasText: "Office display" }))).toBe("pointer");
  expect(await cursorOf(cards.filter({ hasText: "Nightly sync" }))).toBe("auto");
  await ada.setViewportSize({ width: 1280, height: 900 });
});

test("an owner who opens another page while a key is being blocked stays there", async () => {
  await ada.goto(addressOf("settings"));
  const navigation = ada.getByRole("navigation", { name: "Main" });
  await navigation.getByRole("link", { name: "API keys", exact: true }).click();
  await ada.getByRole("checkbox", { name: "Select Short-lived" }).check();
  await ada.getByRole("button", { name: "Block", exact: true }).click();
  const call = await holdCall(ada, "workspaceKeys.block");
  await dialogOf(ada).getByRole("button", { name: "Block key" }).click();
  await call.isSent;
  await ada.goBack();
  await ada.getByRole("heading", { name: "Settings", level: 1 }).waitFor();
  call.release();
  await ada.getByText("1 key was blocked.").waitFor();
  await ada.waitForLoadState("networkidle");
  expect(ada.url()).toBe(addressOf("settings"));
});

test("a dialog doesn’t show why another key couldn’t be unblocked", async () => {
  await ada.goto(addressOf("api-keys"));
  await failCalls(ada, "workspaceKeys.unblock");
  await ada.getByRole("button", { name: "Unblock Nightly sync" }).click();
  await dialogOf(ada).getByRole("button", { name: "Unblock key" }).click();
  await dialogOf(ada).getByRole("alert").getByText("req-1234").waitFor();
  await dialogOf(ada).getByRole("button", { name: "Cancel" }).click();
  await dialogOf(ada).waitFor({ state: "detached" });
  await ada.unrouteAll();
  await ada.getByRole("button", { name: "Unblock Short-lived" }).click();
  await dialogOf(ada).getByRole("button", { name: "Unblock key" }).waitFor();
  expect(await dialogOf(ada).getByRole("alert").count()).toBe(0);
  await dialogOf(ada).getByRole("button", { name: "Unblock key" }).click();
  await rowOf("Short-lived").getByText("Blocked here").waitFor({ state: "detached" });
});

test("an owner blocks and unblocks several keys together, and filters by the status", async () => {
  await ada.goto(addressOf("api-keys"));
  await ada.getByRole("checkbox", { name: "Select Nightly sync" }).check();
  await ada.getByRole("checkbox", { name: "Select Short-lived" }).check();
  await ada.getByRole("checkbox", { name: "Select Office display" }).check();
  await ada.getByText("3 keys selected").waitFor();
  await ada.getByRole("button", { name: "Block", exact: true }).click();
  await dialogOf(ada).getByText("The owners see that you blocked them.").waitFor();
  await dialogOf(ada).getByRole("button", { name: "Cancel" }).click();
  await dialogOf(ada).waitFor({ state: "detached" });
  await ada.getByRole("checkbox", { name: "Select Office display" }).uncheck();
  await ada.getByText("2 keys selected").waitFor();
  // Blocking another key by its row keeps the selection.
  await ada.getByRole("button", { name: "Block Office display" }).click();
  await dialogOf(ada).getByRole("button", { name: "Block key" }).click();
  await rowOf("Office display").getByText("Blocked here").waitFor();
  await dialogOf(ada).waitFor({ state: "detached" });
  await ada.getByRole("button", { name: "Unblock Office display" }).click();
  await dialogOf(ada).getByRole("button", { name: "Unblock key" }).click();
  await rowOf("Office display").getByText("Blocked here").waitFor({ state: "detached" });
  await dialogOf(ada).waitFor({ state: "detached" });
  await ada.getByText("2 keys selected").waitFor();
  await ada.getByRole("button", { name: "Block", exact: true }).click();
  await dialogOf(ada).getByText("The owner sees that you blocked it.").waitFor();
  await dialogOf(ada).getByRole("button", { name: "Block key" }).click();
  await ada.getByText("2 keys selected").waitFor({ state: "detached" });
  await rowOf("Short-lived").getByText("Blocked here").waitFor();
  await ada.goto(`${addressOf("api-keys")}?status=blocked`);
  await rowOf("Short-lived").waitFor();
  await ada.getByRole("checkbox", { name: "Select Nightly sync" }).check();
  await ada.getByRole("checkbox", { name: "Select Short-lived" }).check();
  await ada.getByRole("button", { name: "Unblock", exact: true }).click();
  await dialogOf(ada).getByRole("button", { name: "Unblock 2 keys" }).click();
  await ada.getByText("2 keys were unblocked.").waitFor();
  await ada.getByText("No key matches the filters").waitFor();
  expect(await useKey()).toBe(200);
});

test("an owner previews a policy before saving it, and the key is rejected on the next request", async () => {
  await ada.goto(addressOf("settings"));
  await ada.getByRole("checkbox", { name: "Require an expiry" }).check();
  await ada.getByLabel("Maximum idle time, in days").fill("100");
  await ada.getByRole("button", { name: "Review and save" }).click();
  await ada.getByText("Enter a whole number of days from 1 to 90, or leave empty for no limit.").waitFor();
  await ada.getByLabel("Maximum idle time, in days").fill("30");
  await ada.getByRole("button", { name: "Review and save" }).click();
  const dialog = dialogOf(ada);
  await dialog
    .getByText(
      /^1 key would stop working in this workspace\. It was last used (this hour|in the last 2 hours)\.$/,
    )
    .waitFor();
  await dialog.getByText("Ada Lovelace").waitFor();
  await dialog.getByText("Never expires").waitFor();
  await expectAccessible(ada);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(await useKey()).toBe(200);
  await ada.getByRole("button", { name: "Review and save" }).click();
  await dialog.getByText("1 key would stop working").waitFor();
  await dialog.getByRole("button", { name: "Save policy" }).click();
  await ada.getByText("API key policy saved.").waitFor();
  await ada.getByRole("button", { name: "Review and save" }).and(ada.locator(":focus")).waitFor();
  expect(await useKey()).toBe(403);
  await expectAccessible(ada);
  await ada.goto(`${addressOf("api-keys")}?status=policy`);
  await rowOf("Nightly sync").getByText("Violates policy").waitFor();
  await ada.goto(addressOf("audit"));
  await ada.getByText(/changed the API key policy: expiry required/).waitFor();
});

test("a member sees the policy, why it rejects the key, and a valid lifetime for a new key", async () => {
  await linus.goto(addressOf("settings"));
  await linus.getByText("Rejected after 30 days without use here").waitFor();
  await linus
    .getByRole("navigation", { name: "Main" })
    .getByRole("link", { name: "API keys", exact: true })
    .click();
  // Without the owner's keys.
  await linus.getByText("Your API keys that can reach this workspace.").waitFor();
  await linus.getByText("2 keys", { exact: true }).waitFor();
  const names = await linus.getByRole("table", { name: "API keys" }).getByRole("rowheader").allTextContents();
  expect(names.map((name) => name.replace(/ lk_.*$/, "")).toSorted()).toEqual([
    "Nightly sync",
    "Short-lived",
  ]);
  await linus.goto(`${environment.baseUrl}/account/api-keys/${key.id}`);
  await linus.getByText("There, keys must expire.").waitFor();
  await linus.getByText("Edit the key’s restrictions, and set an expiry.").waitFor();
  // The explanation of a rejected request leads back to what the policy requires.
  const rejected = linus.getByRole("row").filter({ hasText: "API key policy doesn’t allow the key" });
  await scrollUntil(rejected);
  await rejected.first().getByRole("link").click();
  await linus.getByRole("heading", { name: "Why this request was rejected" }).waitFor();
  await linus.getByRole("link", { name: "See what the workspace requires" }).click();
  await linus.getByText("There, keys must expire.").waitFor();
  expect(new URL(linus.url()).search).toBe("");
  for (const name of ["Analytics", "Billing", "Compliance"]) {
    const { workspaces, workspaceKeys } = proceduresOf(linus);
    const { id: workspaceId } = await workspaces.create.mutate({ name });
    await workspaceKeys.changePolicy.mutate({ workspaceId, isExpiryRequired: true, version: 1 });
  }
  await linus.goto(`${environment.baseUrl}/account/api-keys?dialog=new`);
  const dialog = dialogOf(linus);
  await untilFocused(dialog);
  await dialog.getByRole("combobox", { name: "Expires" }).click();
  await linus.getByRole("option", { name: "Never" }).click();
  await dialog.getByText("would reject this key: there, keys must expire.").first().waitFor();
  await dialog.getByText("So would 1 more workspace.", { exact: true }).waitFor();
  expect(await findProblemsInBothSchemes(linus)).toEqual([]);
  await dialog.getByRole("button", { name: "Let it expire in 90 days" }).click();
  await dialog.getByText("would reject this key").first().waitFor({ state: "detached" });
});

test("someone who edits an outdated policy keeps the input, gets a conflict, and sees the current policy", async () => {
  await ada.goto(addressOf("settings"));
  const idleDays = ada.getByLabel("Maximum idle time, in days");
  const lifetimeDays = ada.getByLabel("Maximum lifetime, in days");
  const dialog = dialogOf(ada);
  const { workspaceKeys } = proceduresOf(ada);
  const { id: workspaceId } = workspace;
  const { version } = await workspaceKeys.policy.query({ workspaceId });
  // Without input, the form follows the server.
  await workspaceKeys.changePolicy.mutate({ workspaceId, maxIdleDays: 60, version });
  await returnToTab(ada, async () => (await idleDays.inputValue()) === "60");
  await idleDays.fill("7");
  await ada.getByRole("button", { name: "Review and save" }).click();
  await dialog.getByRole("button", { name: "Save policy" }).waitFor();
  const changes = { maxIdleDays: 14, maxLifetimeDays: 365 };
  await workspaceKeys.changePolicy.mutate({ workspaceId, ...changes, version: version + 1 });
  let isRead = false;
  const isNewest = async (response: Response) =>
    response.url().includes("workspaceKeys.policy") && (await response.text()).includes('"maxIdleDays":14');
  void ada.waitForResponse(isNewest).then(() => {
    isRead = true;
  });
  await returnToTab(ada, async () => isRead);
  await dialog.getByRole("button", { name: "Save policy" }).click();
  const conflict = ada.getByRole("alert").filter({ hasText: "The API key policy was changed" });
  await conflict.getByText("Rejected after 14 days without use here").waitFor();
  await dialog.waitFor({ state: "detached" });
  await conflict.and(ada.locator(":focus")).waitFor();
  expect([await idleDays.inputValue(), await lifetimeDays.inputValue()]).toEqual(["7", "365"]);
  await expectAccessible(ada);
  await conflict.getByRole("button", { name: "Discard changes" }).click();
  await conflict.waitFor({ state: "detached" });
  expect([await idleDays.inputValue(), await lifetimeDays.inputValue()]).toEqual(["14", "365"]);
});

test("a policy isn’t saved without a preview", async () => {
  const idleDays = ada.getByLabel("Maximum idle time, in days");
  await idleDays.fill("7");
  await failCalls(ada, "workspaceKeys.previewPolicy");
  const review = ada.getByRole("button", { name: "Review and save" });
  const dialog = dialogOf(ada);
  const failure = dialog.getByRole("alert").getByText("Couldn’t check which keys would stop working");
  const save = dialog.getByRole("button", { name: "Save policy" });
  await review.click();
  await failure.waitFor();
  expect(await save.isDisabled()).toBe(true);
  expect(await gapBetween(dialog.getByRole("alert"), save)).toBeCloseTo(16);
  await dialog.getByRole("button", { name: "Cancel" }).and(ada.locator(":focus")).press("Enter");
  await dialog.waitFor({ state: "detached" });
  await review.click();
  await failure.waitFor();
  await ada.unrouteAll();
  await untilFocused(dialog);
  // Unlike a key press, a click waits until the button is enabled.
  await dialog.getByRole("button", { name: "Try again" }).click();
  await dialog.getByRole("status").getByText("would stop working").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).and(ada.locator(":focus")).waitFor();
  await save.click();
  await ada.getByText("API key policy saved.").waitFor();
  expect(await idleDays.inputValue()).toBe("7");
});

test("admins and the owner of a key see that a service account blocked the key", async () => {
  const { id: workspaceId } = workspace;
  const accounts = proceduresOf(ada).serviceAccounts;
  const { userId } = await accounts.create.mutate({ workspaceId, name: "Guard", role: "admin" });
  const settings = { expiresAt: { inSeconds: 86_400 } };
  const guard = await accounts.createKey.mutate({ workspaceId, userId, name: "Guard", settings });
  const own = await proceduresOf(linus).apiKeys.create.mutate({ name: "Suspicious", settings });
  const blocked = await fetch(
    `${environment.baseUrl}/open/workspaces/${workspaceId}/api-keys/${own.id}/block`,
    { method: "PUT", headers: { Authorization: `Bearer ${guard.key}` } },
  );
  expect(blocked.status).toBe(204);
  await ada.goto(addressOf("api-keys"));
  await rowOf("Suspicious").getByTitle("Blocked by Guard (service account)").waitFor();
  await linus.goto(`${environment.baseUrl}/account/api-keys/${own.id}`);
  await linus.getByText(/Guard \(service account\) blocked it/).waitFor();
});
