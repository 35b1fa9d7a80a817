import type { Locator, Page, Route } from "playwright-core";
import { expect, test, vi } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { callOpen } from "../support/open-call.ts";
import { createKey, enter, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { loseResponse } from "./lose-response.ts";
import { returnToTab } from "./return-to-tab.ts";
import { routeOnce } from "./route-once.ts";
import { stayDuringCall } from "./stay-during-call.ts";
import { untilFocused } from "./until-focused.ts";

// Ada invites Grace, who works with a key. Grace is demoted and removed, and a service account takes over. Each test
// continues where the previous one ended.

let ada: Page;
let grace: Page;
let workspace: Awaited<ReturnType<typeof getWorkspace>>;
/** Grace's key. */
let former: string;
/** The key of the service account. */
let secret: string;

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page: ada } = await browser.open());
  ({ page: grace } = await browser.open());
  await enter(ada, baseUrl);
  workspace = await getWorkspace(ada);
});

const addressOf = (page: string) => `${environment.baseUrl}/w/${workspace.slug}/${page}`;
const dialogOf = () => ada.getByRole("dialog");
const focusOf = () => ada.locator(":focus");
const rowOf = (name: string) => ada.getByRole("row").filter({ hasText: name });
const statusOf = async (key: string, path = "") =>
  (await callOpen(environment.baseUrl, key, `/open/workspaces/${workspace.id}${path}`)).status;

async function backgroundOf(button: Locator): Promise<string> {
  return await button.evaluate(
    (element) => element.ownerDocument.defaultView.getComputedStyle(element).backgroundColor,
  );
}

/** Types a name for the service account, and expects that Escape asks before the name is discarded. */
async function expectQuestionOnEscape(name: string): Promise<void> {
  const field = dialogOf().getByLabel("Name of the service account");
  await field.fill(name);
  await ada.keyboard.press("Escape");
  const question = ada.getByRole("dialog", { name: "Discard unsaved changes?" });
  await question.getByRole("button", { name: "Keep editing" }).click();
  await question.waitFor({ state: "detached" });
  expect(await field.inputValue()).toBe(name);
}

test("an invited person accepts, and works with a key", async () => {
  const input = { workspaceId: workspace.id, email: "grace@example.com", role: "admin" } as const;
  const { url } = await proceduresOf(ada).invitations.create.mutate(input);
  await grace.goto(url ?? "");
  await grace.getByLabel("Name").fill("Grace Hopper");
  await grace.getByLabel("Password").fill(visitor.password);
  await grace.getByRole("button", { name: "Create account and join" }).click();
  await grace.waitForURL(`${environment.baseUrl}/w/${workspace.slug}`);
  await grace.goto(`${environment.baseUrl}/account/api-keys`);
  former = await createKey(grace, "Pipeline");
  expect(await statusOf(former)).toBe(200);
  expect(await statusOf(former, "/audit-events")).toBe(200);
  // Uses are written in the background, and the dialog loads them once.
  const isUseStored = async () => {
    const { keys } = await proceduresOf(grace).offboarding.previewOwn.query({ workspaceId: workspace.id });
    return keys.some(({ lastUsedAt }) => lastUsedAt !== null);
  };
  await vi.waitUntil(isUseStored, { timeout: 30_000 });
});

/** Reloads the page, and answers its question. Returns the kind of the question. */
async function closeTab(page: Page, answer: "accept" | "dismiss"): Promise<string> {
  const asked = page.waitForEvent("dialog");
  // A reload that the user stops never ends.
  const reloaded =
    answer === "accept" ? page.reload() : page.evaluate("location.reload()").catch(() => undefined);
  const question = await asked;
  await question[answer]();
  await reloaded;
  return question.type();
}

/** Returns to the window after the member has left, so that the preview of the change can't be loaded again. */
async function failPreview(page: Page, procedure: string): Promise<void> {
  const url = new RegExp(`/trpc/[^?]*${procedure}\\b`);
  const data = { code: "NOT_FOUND", httpStatus: 404, requestId: "0f8fad5b", issues: [] };
  const failure = { error: { code: -32004, message: "Not Found", data } };
  const fail = async (route: Route) => {
    const response = await route.fetch();
    const results = (await response.json()) as readonly unknown[]; // One per procedure of the path.
    const position = new URL(route.request().url()).pathname.split("/").at(-1)?.split(",").indexOf(procedure);
    await route.fulfill({
      response,
      json: results.map((result, index) => (index === position ? failure : result)),
    });
  };
  await routeOnce(page, url, fail);
  const response = page.waitForResponse(url);
  await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
  await (await response).finished();
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}

test.each([
  {
    procedure: "members.changeRole",
    preview: "offboarding.preview",
    action: "Make a member",
    pageOf: () => ada,
    open: async () => {
      await rowOf("Grace Hopper").getByRole("combobox", { name: "Role of Grace Hopper" }).click();
      await ada.getByRole("option", { name: "Member" }).click();
    },
  },
  {
    procedure: "members.remove",
    preview: "offboarding.preview",
    action: "Remove member",
    pageOf: () => ada,
    open: () => ada.getByRole("button", { name: "Remove Grace Hopper" }).click(),
  },
  {
    procedure: "members.leave",
    preview: "offboarding.previewOwn",
    action: "Leave workspace",
    pageOf: () => grace,
    open: () => grace.getByRole("button", { name: "Leave the workspace" }).click(),
  },
])(
  "keeps a new key while it is created, while its preview fails, and while $procedure is pending, and after it failed",
  async ({ procedure, preview, action, pageOf, open }) => {
    const page = pageOf();
    const dialog = page.getByRole("dialog");
    await page.goto(addressOf("members"));
    await open();
    await untilFocused(dialog);
    await dialog.getByRole("button", { name: "Replace with service account keys" }).click();
    const name = dialog.getByLabel("Name of the service account");
    await name.fill(procedure);
    await failPreview(page, preview);
    expect(await name.inputValue()).toBe(procedure);
    const confirm = dialog.getByRole("button", { name: action, exact: true });
    const created = dialog.getByRole("region", { name: "New API keys" });
    await stayDuringCall(page, "offboarding.replaceKeys", async () => {
      await dialog.getByRole("button", { name: "Create 1 key" }).click();
      const cancel = dialog.getByRole("button", { name: "Cancel" });
      const close = dialog.getByRole("button", { name: "Close" });
      for (const button of [confirm, cancel, close]) await button.and(page.locator(":disabled")).waitFor();
      expect(await backgroundOf(confirm)).toBe(await backgroundOf(cancel));
    });
    const newKey = await created.locator("code").first().textContent();
    await failPreview(page, preview);
    expect(await created.locator("code").first().textContent()).toBe(newKey);
    const calls = new RegExp(`/trpc/${procedure}`);
    const [isCalled, isAnswered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route(calls, async (route) => {
      isCalled.resolve();
      await isAnswered.promise;
      await route.fulfill({ status: 502, body: "" });
    });
    try {
      await confirm.click();
      await dialog.getByText("You haven’t copied 1 key, and it won’t be shown again.").waitFor();
      await confirm.click();
      await isCalled.promise;
      expect(await closeTab(page, "dismiss")).toBe("beforeunload");
      const response = page.waitForResponse(calls);
      isAnswered.resolve();
      await response;
      await confirm.and(page.locator(":enabled:not([data-loading])")).waitFor();
      expect(await closeTab(page, "accept")).toBe("beforeunload");
    } finally {
      isAnswered.resolve();
      await page.unroute(calls);
    }
  },
);

test("the dialog shows the permissions that keys lose with a new role", async () => {
  await ada.goto(addressOf("members"));
  await rowOf("Grace Hopper").getByRole("combobox", { name: "Role of Grace Hopper" }).click();
  await ada.getByRole("option", { name: "Member" }).click();
  const impact = dialogOf().getByRole("region", { name: "API keys that lose access" });
  await impact.getByText("Pipeline").waitFor();
  await impact.getByText(/No longer allowed: .*audit:read/).waitFor();
  await impact.getByText(/ uses? here in 30 days, last used (this hour|in the last 2 hours)\./).waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await untilFocused(dialogOf());
  await impact.getByRole("button", { name: "Replace with service account keys" }).click();
  await expectQuestionOnEscape("Reports");
  await impact.getByRole("button", { name: "Don’t replace" }).click();
  await impact.getByRole("button", { name: "Replace with service account keys" }).and(focusOf()).waitFor();
  await dialogOf().getByRole("button", { name: "Make a member" }).click();
  await dialogOf().waitFor({ state: "detached" });
  expect(await statusOf(former, "/audit-events")).toBe(403);
  expect(await statusOf(former)).toBe(200);
});

test("a member’s overview lists only their own keys, and says so", async () => {
  await grace.goto(addressOf(""));
  for (const name of [
    "Your busiest API keys",
    "Your API keys that expire within 30 days",
    "Your unused API keys",
  ])
    await grace.getByRole("heading", { name, exact: true }).waitFor();
});

/** Opens the dialog that removes Grace, and offers to replace her keys. */
async function offerReplacement(): Promise<void> {
  await rowOf("Grace Hopper").getByRole("button", { name: "Remove Grace Hopper" }).click();
  await untilFocused(dialogOf());
  await dialogOf().getByRole("button", { name: "Replace with service account keys" }).click();
}

test("the keys to replace follow those that the person has", async () => {
  const { apiKeys } = proceduresOf(grace);
  const create = (count: string) => dialogOf().getByRole("button", { name: `Create ${count}` });
  await offerReplacement();
  await create("1 key").waitFor();
  const { id } = await apiKeys.create.mutate({ name: "Reports" });
  await returnToTab(ada, () => create("2 keys").isVisible());
  await apiKeys.delete.mutate({ id });
  await returnToTab(ada, () => create("1 key").isVisible());
  await dialogOf()
    .getByRole("checkbox", { name: /^Pipeline/ })
    .uncheck();
  await create("0 keys").and(ada.locator(":disabled")).waitFor();
  await dialogOf().getByRole("button", { name: "Cancel" }).click();
  await dialogOf().waitFor({ state: "detached" });
});

test("after a lost response, says that the service account may have been created, and lists it", async () => {
  await offerReplacement();
  await dialogOf().getByLabel("Name of the service account").fill("Lost");
  await loseResponse(ada, "offboarding.replaceKeys");
  await dialogOf().getByRole("button", { name: "Create 1 key" }).click();
  const alert = dialogOf().getByRole("alert");
  await alert.filter({ hasText: "The service account may have been created." }).waitFor();
  await ada.getByRole("row", { includeHidden: true }).filter({ hasText: "Lost" }).waitFor();
  await dialogOf().getByRole("button", { name: "Cancel" }).click();
  await dialogOf().waitFor({ state: "detached" });
});

test("a service account takes over the integration, while the person stays", async () => {
  await rowOf("Grace Hopper").getByRole("button", { name: "Remove Grace Hopper" }).click();
  const impact = dialogOf().getByRole("region", { name: "API keys that lose access" });
  await impact
    .getByText("1 API key loses access to this workspace, and all of its requests here are rejected:")
    .waitFor();
  await untilFocused(dialogOf());
  await impact.getByRole("button", { name: "Replace with service account keys" }).focus();
  await ada.keyboard.press("Enter");
  const name = dialogOf().getByLabel("Name of the service account");
  expect(await name.and(focusOf()).inputValue()).toBe("Grace Hopper’s integrations");
  await expectQuestionOnEscape("Deploys");
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await dialogOf().getByRole("button", { name: "Create 1 key" }).click();
  const created = dialogOf().getByRole("region", { name: "New API keys" });
  await created.getByText("The new key hasn’t been used yet.").waitFor();
  await created.getByRole("button", { name: "Copy the key Pipeline" }).and(focusOf()).waitFor();
  secret = (await created.locator("code").first().textContent()) ?? "";
  expect(secret).toMatch(/^lk_/);
  expect(secret).not.toBe(former);
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  // Both keys work until the person is removed, and the dialog shows when the new one is used.
  expect([await statusOf(former), await statusOf(secret)]).toEqual([200, 200]);
  // The time, which changes, isn't announced.
  await created.getByRole("status").getByText("The new key was used", { exact: true }).waitFor();
  const warning = created.getByText("You haven’t copied 1 key, and it won’t be shown again.");
  expect(await warning.count()).toBe(0);
  await ada.keyboard.press("Escape");
  await warning.waitFor();
  expect(await created.locator("code").first().textContent()).toBe(secret);
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await created.getByRole("button", { name: "Copy the key Pipeline" }).click();
  await warning.waitFor({ state: "detached" });
  await dialogOf().getByRole("button", { name: "Keep for now" }).click();
  await dialogOf().waitFor({ state: "detached" });
  await rowOf("Deploys").getByText("Service account").waitFor();
  expect(await statusOf(former)).toBe(200);
});

test("the removed person’s key is rejected, and the service account’s works", async () => {
  await ada.setViewportSize({ width: 375, height: 740 });
  await ada.goto(addressOf("members"));
  await ada.getByRole("button", { name: "Remove Grace Hopper" }).click();
  const keys = "1 API key loses access to this workspace, and all of its requests here are rejected:";
  await dialogOf().getByText(keys).waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  // The dialog is longer than the window. Its beginning and its buttons are visible.
  await ada.setViewportSize({ width: 375, height: 420 });
  const first = await dialogOf().getByText("This person can no longer see").boundingBox();
  const button = await dialogOf().getByRole("button", { name: "Remove member", exact: true }).boundingBox();
  expect(first?.y).toBeGreaterThan(0);
  expect((button?.y ?? 420) + (button?.height ?? 0)).toBeLessThanOrEqual(420);
  await ada.setViewportSize({ width: 375, height: 740 });
  await dialogOf().getByRole("button", { name: "Remove member", exact: true }).click();
  await dialogOf().waitFor({ state: "detached" });
  expect(await statusOf(former)).toBe(403);
  expect(await statusOf(secret)).toBe(200);
  await grace.goto(addressOf(""));
  await grace.getByRole("heading", { level: 1 }).waitFor();
  expect(await grace.getByText("Quick start").count()).toBe(0);
});
