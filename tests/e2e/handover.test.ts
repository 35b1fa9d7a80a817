import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { callOpen } from "../support/open-call.ts";
import { callOpenApi, createKey, enter, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { failCalls } from "./fail-calls.ts";
import { untilFocused } from "./until-focused.ts";

// Ada, who is the operator, hands her workspace over to Grace and leaves. Then Grace deletes her account. Each test
// continues where the previous one ended.

let ada: Page;
let grace: Page;
let workspace: Awaited<ReturnType<typeof getWorkspace>>;
let graceKey: string;
let adaKey: string;
const graceEmail = "grace@example.com";

const environment = prepareEnvironment(async ({ browser, baseUrl, command }) => {
  ({ page: ada } = await browser.open());
  await enter(ada, baseUrl);
  workspace = await getWorkspace(ada);
  const user = ["user", "create", "--email", graceEmail, "--name", "Grace Hopper", "--password-stdin"];
  await command(user, visitor.password);
  const member = ["--workspace", workspace.id, "--user", graceEmail, "--role", "member"];
  await command(["member", "add", ...member]);
  ({ page: grace } = await browser.open());
  const data = { email: graceEmail, password: visitor.password };
  await grace.context().request.post(`${baseUrl}/trpc/session.signIn`, { data });
  await grace.goto(`${baseUrl}/favicon.svg`);
  graceKey = await createKey(grace, "Nightly backup");
});

const addressOf = (page = "") => `${environment.baseUrl}/w/${workspace.slug}${page}`;
const profile = () => `${environment.baseUrl}/account/profile`;
const noticeOf = (page: Page) => page.getByRole("region", { name: "Ownership" });
const roleOf = (page: Page, name: string) =>
  page.getByRole("row").filter({ has: page.getByRole("rowheader", { name }) });

const phone: BrowserContextOptions = {
  viewport: { width: 375, height: 740 },
  isMobile: true,
  hasTouch: true,
};

/** Axe's findings in light and dark, and by how much the page is too wide for a phone. */
async function findProblems(page: Page): Promise<unknown> {
  const problems = await findProblemsInBothSchemes(page);
  const overflow = await page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  return problems.length > 0 || overflow !== 0 ? { problems, overflow } : undefined;
}

async function openOnPhone(page: Page): Promise<Page> {
  const { page: copy } = await environment.browser.open(phone);
  await copy.context().addCookies(await page.context().cookies());
  return copy;
}

test("an offer disappears with the member to whom ownership was offered", async () => {
  const email = "joan@example.com";
  const user = ["user", "create", "--email", email, "--name", "Joan Clarke", "--password-stdin"];
  await environment.command(user, visitor.password);
  await environment.command([
    ...["member", "add", "--workspace", workspace.id, "--user", email, "--role", "member"],
  ]);
  await ada.goto(addressOf("/members"));
  await ada.getByRole("combobox", { name: "Role of Joan Clarke" }).click();
  await ada.getByRole("option", { name: "Owner" }).click();
  await ada.getByRole("dialog").getByRole("button", { name: "Offer ownership" }).click();
  await noticeOf(ada).getByText("Ownership is offered to Joan Clarke.").waitFor();
  await ada.getByRole("button", { name: "Remove Joan Clarke" }).click();
  await ada.getByRole("dialog").getByRole("button", { name: "Remove member", exact: true }).click();
  await ada.getByText("is no longer a member.").waitFor();
  await noticeOf(ada).waitFor({ state: "detached" });
});

test("an owner offers ownership to a member, and can withdraw the offer", async () => {
  await ada.goto(addressOf("/members"));
  const offer = async () => {
    await ada.getByRole("combobox", { name: "Role of Grace Hopper" }).click();
    await ada.getByRole("option", { name: "Owner" }).click();
    await ada.getByRole("dialog").getByRole("button", { name: "Offer ownership" }).click();
    await noticeOf(ada).getByText("Ownership is offered to Grace Hopper.").waitFor();
  };
  await offer();
  // After a failure, the button has the focus again.
  await failCalls(ada, "ownership.end");
  await noticeOf(ada).getByRole("button", { name: "Withdraw offer" }).press("Enter");
  await ada.getByText("Internal server error").waitFor();
  await noticeOf(ada).getByRole("button", { name: "Withdraw offer" }).and(ada.locator(":focus")).waitFor();
  await ada.unrouteAll();
  const withdraw = async () => {
    await noticeOf(ada).getByRole("button", { name: "Withdraw offer" }).click();
    await noticeOf(ada).waitFor({ state: "detached" });
  };
  await withdraw();
  // The button that had the focus was removed.
  await ada.locator("#content:focus").waitFor();
  // A list of choices that the user opens while the page is refetched stays open.
  await ada.goto(addressOf("/members"));
  await offer();
  const refetched = Promise.withResolvers<void>();
  await ada.route(/members\.list/, async (route) => {
    await refetched.promise;
    await route.continue();
  });
  await withdraw();
  await ada.getByRole("combobox", { name: "Role of Grace Hopper" }).click();
  const choice = ada.getByRole("option", { name: "Owner" });
  await choice.waitFor();
  refetched.resolve();
  await ada.getByText("The ownership offer was withdrawn.").waitFor();
  expect(await choice.isVisible()).toBe(true);
  await ada.unroute(/members\.list/);
  await ada.keyboard.press("Escape");
  await offer();
  expect(await findProblems(ada)).toBeUndefined();
});

test("the member sees the offer on the overview and the members page, and declines or accepts it by keyboard", async () => {
  await grace.goto(addressOf());
  await noticeOf(grace).getByText("Ada Lovelace offers you ownership of this workspace.").waitFor();
  const small = await openOnPhone(grace);
  await small.goto(addressOf());
  await noticeOf(small).getByRole("button", { name: "Accept ownership" }).click();
  await small.getByRole("dialog", { name: /^Become an owner of/ }).waitFor();
  expect(await findProblems(small)).toBeUndefined();
  await small.keyboard.press("Escape");
  await small.getByRole("dialog").waitFor({ state: "detached" });
  await noticeOf(small).getByRole("button", { name: "Decline" }).click();
  await noticeOf(small).waitFor({ state: "detached" });
  await small.close();

  const { to } = await proceduresOf(ada).ownership.offer.mutate({
    workspaceId: workspace.id,
    userId: (await proceduresOf(grace).session.current.query())?.user.id ?? "",
  });
  expect(to.name).toBe("Grace Hopper");
  await grace.goto(addressOf("/members"));
  await noticeOf(grace).getByRole("button", { name: "Accept ownership" }).focus();
  await grace.keyboard.press("Enter");
  const dialog = grace.getByRole("dialog", { name: /^Become an owner of/ });
  await dialog.getByText("becomes an admin.").waitFor();
  await untilFocused(dialog);
  await grace.keyboard.press("Tab");
  await dialog.getByRole("button", { name: "Become an owner" }).and(grace.locator(":focus")).waitFor();
  await grace.keyboard.press("Enter");
  await grace.getByText(/^You are now an owner of/).waitFor();
  await noticeOf(grace).waitFor({ state: "detached" });
  await grace.getByRole("combobox", { name: "Role of Ada Lovelace" }).waitFor();
  await expect.poll(() => roleOf(grace, "Grace Hopper").textContent()).toContain("Owner");
});

test("the former owner is an admin", async () => {
  await ada.goto(addressOf("/members"));
  await expect.poll(() => roleOf(ada, "Grace Hopper").textContent()).toContain("Owner");
  expect(await noticeOf(ada).count()).toBe(0);
  const { role } = await proceduresOf(ada).workspaces.get.query({ workspaceId: workspace.id });
  expect(role).toBe("admin");
});

test("neither the operator nor the last owner of a workspace with other members can delete their account", async () => {
  await ada.goto(profile());
  await ada.getByRole("button", { name: "Delete account" }).click();
  await ada.getByRole("dialog").getByText("You are the only operator who can sign in").waitFor();
  const small = await openOnPhone(grace);
  await small.goto(profile());
  await small.getByRole("button", { name: "Delete account" }).click();
  const dialog = small.getByRole("dialog", { name: "Delete your account?" });
  await dialog.getByText("You are the last owner of these workspaces").waitFor();
  await dialog.getByRole("link", { name: "Ada Lovelace’s workspace" }).waitFor();
  expect(await findProblems(small)).toBeUndefined();
  await small.close();
});

test("the former owner sees which API keys lose access with a lower role", async () => {
  adaKey = await createKey(ada, "Reports");
  await ada.goto(addressOf("/members"));
  await ada.getByRole("combobox", { name: "Role of Ada Lovelace" }).click();
  await ada.getByRole("option", { name: "Member" }).click();
  const dialog = ada.getByRole("dialog", { name: "Change your own role?" });
  const impact = dialog.getByRole("region", { name: "API keys that lose access" });
  await impact.getByText("Reports").waitFor();
  await impact.getByText(/No longer allowed: .*audit:read/).waitFor();
  await impact.getByRole("button", { name: "Replace with service account keys" }).waitFor();
  await ada.waitForLoadState("networkidle");
  expect(await findProblems(ada)).toBeUndefined();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
});

test("the former owner sees which API keys lose access, and leaves", async () => {
  const workspaceId = workspace.id;
  const statusOf = async () =>
    (await callOpen(environment.baseUrl, adaKey, `/open/workspaces/${workspaceId}`)).status;
  expect(await statusOf()).toBe(200);
  const dialog = ada.getByRole("dialog");
  const openDialog = async () => {
    await ada.getByRole("button", { name: "Leave the workspace" }).click();
    await dialog
      .getByText("1 API key loses access to this workspace, and all of its requests here are rejected:")
      .waitFor();
    await dialog.getByText("Reports").waitFor();
  };
  await openDialog();
  await untilFocused(dialog);
  await dialog.getByRole("button", { name: "Replace with service account keys" }).click();
  await dialog.getByLabel("Name of the service account").fill("Reporting");
  await dialog.getByRole("button", { name: "Create 1 key" }).click();
  await dialog.getByText("To give integrations time to switch, select Stay for now.").waitFor();
  await dialog.getByRole("button", { name: "Copy the key Reports" }).click();
  await dialog.getByRole("button", { name: "Stay for now" }).click();
  await dialog.waitFor({ state: "detached" });
  // Otherwise, Grace couldn't delete her account with the workspace.
  const { items } = await proceduresOf(ada).members.list.query({ workspaceId, kind: "service_account" });
  for (const { userId } of items) await proceduresOf(ada).members.remove.mutate({ workspaceId, userId });
  await openDialog();
  await dialog.getByRole("button", { name: "Leave workspace", exact: true }).click();
  await ada.getByText(/^You have left/).waitFor();
  expect(await statusOf()).toBe(403);
});

test("deletes the account with its workspaces, after the email address was typed", async () => {
  expect((await callOpenApi(environment.baseUrl, graceKey)).status).toBe(200);
  await grace.goto(profile());
  await grace.getByRole("button", { name: "Delete account" }).click();
  const dialog = grace.getByRole("dialog", { name: "Delete your account?" });
  await dialog.getByText(/^1 key stops working; last used/).waitFor();
  const names = await dialog.getByRole("listitem").allTextContents();
  expect(names.sort()).toEqual(["Ada Lovelace’s workspace", "Grace Hopper’s workspace"]);
  expect(await findProblems(grace)).toBeUndefined();
  const button = dialog.getByRole("button", { name: "Delete account" });
  await button.click();
  await dialog.getByText(`Enter “${graceEmail}” to confirm.`).waitFor();
  await dialog.getByLabel(`Enter ${graceEmail} to confirm`).fill("Grace@example.com");
  const settings = { "latchkey.exact-times": "true", "latchkey.navigation-folded": "true" };
  await grace.evaluate(`Object.assign(localStorage, ${JSON.stringify(settings)})`);
  await grace.keyboard.press("Enter");
  await grace.waitForURL(/\/sign-in/);
  expect(await grace.evaluate("({ ...localStorage })")).toEqual(settings);
  expect((await callOpenApi(environment.baseUrl, graceKey)).status).toBe(403);
  await grace.getByLabel("Email").fill(graceEmail);
  await grace.getByLabel("Password").fill(visitor.password);
  await grace.getByRole("button", { name: "Sign in" }).click();
  await grace.getByText("The email address or password is wrong.").waitFor();
});
