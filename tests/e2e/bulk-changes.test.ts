import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { enter, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { holdCall } from "./hold-call.ts";

// Users, webhooks and service accounts that are selected and changed together, of which one change fails.

let page: Page;
let slug: string;
let workspaceId: string;

const environment = prepareEnvironment(async ({ browser, baseUrl, command }) => {
  ({ page } = await browser.open({ viewport: { width: 1440, height: 900 } }));
  await enter(page, baseUrl);
  ({ id: workspaceId, slug } = await getWorkspace(page));
  for (const name of ["Grace", "Ken"]) {
    const create = ["user", "create", "--email", emailOf(name), "--name", name, "--password-stdin"];
    await command(create, visitor.password);
  }
  // Ken is the only owner of a workspace with another member, so that he can't be disabled.
  const { items } = await proceduresOf(page).operator.workspaces.query({ search: "Ken’s workspace" });
  const [workspace] = items;
  const add = ["member", "add", "--workspace", workspace?.id ?? "", "--user", emailOf("Grace")];
  await command([...add, "--role", "viewer"]);
  for (const name of ["a", "b"]) {
    const url = `https://hooks.example.com/${name}`;
    await proceduresOf(page).webhooks.create.mutate({ workspaceId, url, actions: ["webhook.deleted"] });
    await proceduresOf(page).serviceAccounts.create.mutate({
      workspaceId,
      name: `Robot ${name}`,
      role: "viewer",
    });
  }
});

afterEach(() => page.setViewportSize({ width: 1440, height: 900 }));

const emailOf = (name: string) => `${name.toLowerCase()}@example.com`;
const open = (path: string) => page.goto(environment.baseUrl + path);
const rowOf = (name: string) => page.getByRole("row").filter({ hasText: name });
const select = (name: string) => page.getByRole("checkbox", { name: `Select ${name}` }).check();
const dialogOf = (name: string) => page.getByRole("dialog", { name });
const press = (name: string) => page.getByRole("button", { name, exact: true }).click();

/** Checks the dialog that asks for confirmation with axe, and confirms. */
async function confirm(action: string): Promise<void> {
  const answer = page.getByRole("dialog").getByRole("button", { name: action, exact: true });
  await answer.waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await answer.click();
}

/** Closes the results, after which the focus is on the button that opened the dialog. */
async function closeResults(title: string, opener: string): Promise<void> {
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await dialogOf(title).waitFor({ state: "detached" });
  await page.getByRole("button", { name: opener, exact: true }).and(page.locator(":focus")).waitFor();
}

test("disables users, and states why one of them couldn’t be disabled", async () => {
  await open("/operator/users");
  const own = page.getByRole("checkbox", { name: "Select Ada Lovelace" });
  await own.focus();
  await page.getByRole("tooltip").getByText("This is your account.").waitFor();
  await select("Grace");
  await select("Ken");
  await page.reload();
  await page.getByText("2 users selected").waitFor();
  await press("Disable");
  const question = dialogOf("Disable 2 users?");
  await question.getByText("They are signed out immediately").waitFor();
  await question.getByText("Grace, Ken", { exact: true }).waitFor();
  await question.getByText("Together, they have 0 API keys.").waitFor();
  await confirm("Disable 2 users");
  const results = dialogOf("1 user wasn’t disabled");
  await results.getByText("1 user was disabled.").waitFor();
  const reason = results.getByRole("listitem").filter({ hasText: "Ken" });
  await reason.getByText("This user is the last owner of a workspace").waitFor();
  await closeResults("1 user wasn’t disabled", "Disable");
  await page.getByText("1 user selected").waitFor();
  await rowOf("Grace").getByText("Disabled").waitFor();
  expect(await rowOf("Ken").getByText("Disabled").count()).toBe(0);
});

test("ends the sessions of users, and asks for the password once to enable several users", async () => {
  await press("End sessions");
  await dialogOf("End all sessions of 1 user?").waitFor();
  await confirm("End all sessions of 1 user");
  await page.getByText("1 user was signed out of all devices.").waitFor();
  await page.locator("main:focus").waitFor();
  await environment.change(
    "update sessions set created_at = now() - interval '1 day', authenticated_at = null",
  );
  await page.setViewportSize({ width: 375, height: 740 });
  await select("Grace");
  await press("Enable");
  await confirm("Enable 1 user");
  const confirmation = page.getByRole("dialog").filter({ hasText: "password" });
  await confirmation.getByLabel("Password").fill(visitor.password);
  await confirmation.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("1 user was enabled.").waitFor();
  const { items } = await proceduresOf(page).operator.users.query({ search: "Grace" });
  expect(items.map(({ isDisabled }) => isDisabled)).toEqual([false]);
});

test("a change that ends after the user opened another page leaves them there, and says what failed", async () => {
  const { webhooks } = proceduresOf(page);
  const navigation = page.getByRole("navigation", { name: "Main" });
  for (const isFailing of [false, true]) {
    await open(`/w/${slug}/settings`);
    await navigation.getByRole("link", { name: "Webhooks" }).click();
    await select("https://hooks.example.com/a");
    await select("https://hooks.example.com/b");
    const [first] = (await webhooks.list.query({ workspaceId })).items;
    if (!first) throw new Error("There is no webhook.");
    const { id, version } = first;
    if (isFailing)
      await webhooks.update.mutate({ workspaceId, id, version, changes: { description: "Our SIEM" } });
    const action = isFailing ? "Enable" : "Disable";
    await press(action);
    const call = await holdCall(page, "webhooks.update");
    await press(`${action} 2 webhooks`);
    await call.isSent;
    await page.goBack();
    await page.getByRole("heading", { name: "Settings", level: 1 }).waitFor();
    call.release();
    const message = isFailing ? "1 webhook wasn’t enabled." : "2 webhooks were disabled.";
    await page.getByText(message).waitFor();
    await page.waitForLoadState("networkidle");
    expect(new URL(page.url()).pathname).toBe(`/w/${slug}/settings`);
  }
  for (const { id, version } of (await webhooks.list.query({ workspaceId })).items)
    await webhooks.update.mutate({ workspaceId, id, version, changes: { isDisabled: false } });
});

test("disables webhooks, one of which another person changed, and deletes them", async () => {
  await open(`/w/${slug}/webhooks`);
  await select("https://hooks.example.com/a");
  await select("https://hooks.example.com/b");
  const { webhooks } = proceduresOf(page);
  const changed = (await webhooks.list.query({ workspaceId })).items.find(({ url }) => url.endsWith("/b"));
  const { id = "", version = 0 } = changed ?? {};
  await webhooks.update.mutate({ workspaceId, id, version, changes: { description: "Our SIEM" } });
  await press("Disable");
  await dialogOf("Disable 2 webhooks?").waitFor();
  await confirm("Disable 2 webhooks");
  const results = dialogOf("1 webhook wasn’t disabled");
  await results.getByText("1 webhook was disabled.").waitFor();
  await results.getByRole("listitem").filter({ hasText: "https://hooks.example.com/b" }).waitFor();
  await closeResults("1 webhook wasn’t disabled", "Disable");
  // The list was refetched, so that the same change now succeeds.
  await press("Disable");
  await page.getByRole("button", { name: "Disable 1 webhook" }).click();
  await page.getByText("1 webhook was disabled.").waitFor();
  await expect.poll(() => page.getByRole("table").getByText("Disabled").count()).toBe(2);
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await press("Enable");
  await confirm("Enable 2 webhooks");
  await page.getByText("2 webhooks were enabled.").waitFor();
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await press("Delete");
  await confirm("Delete 2 webhooks");
  await page.getByText("2 webhooks were deleted.").waitFor();
  await page.getByRole("heading", { name: "No webhooks yet" }).waitFor();
});

test("deletes service accounts, and keeps the account selected whose response was lost", async () => {
  await open(`/w/${slug}/members/service-accounts`);
  await select("Robot a");
  await select("Robot b");
  await press("Disable");
  await confirm("Disable 2 service accounts");
  await page.getByText("2 service accounts were disabled.").waitFor();
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.route("**/trpc/serviceAccounts.delete,*", async (route) => {
    const calls = route.request().postDataJSON();
    const url = `${environment.baseUrl}/trpc/serviceAccounts.delete?batch=1`;
    await route.fulfill({ response: await route.fetch({ url, postData: { 0: calls[0] } }) });
  });
  await press("Delete");
  await dialogOf("Delete 2 service accounts?").waitFor();
  await confirm("Delete 2 service accounts");
  const results = dialogOf("1 service account may not have been deleted");
  await results.getByText("1 service account was deleted.").waitFor();
  await results.getByRole("listitem").getByText("The change may have been made.").waitFor();
  await closeResults("1 service account may not have been deleted", "Delete");
  await page.unroute("**/trpc/serviceAccounts.delete,*");
  await press("Delete");
  await page.getByRole("button", { name: "Delete 1 service account" }).click();
  await page.getByText("1 service account was deleted.").waitFor();
  await page.getByRole("heading", { name: "No service accounts yet" }).waitFor();
});
