import { TOTP } from "otpauth";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { createKey, enter, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { closeWithoutCopying } from "./close-without-copying.ts";
import { prepareEnvironment } from "./environment.ts";
import { failCalls } from "./fail-calls.ts";
import { holdCall } from "./hold-call.ts";
import { callsOf } from "./lose-response.ts";
import { returnToTab } from "./return-to-tab.ts";
import { untilFocused } from "./until-focused.ts";

// Ada requires a second factor from the members of her workspace; Grace, a member, has none. Each test continues where the
// previous one ended.

let ada: Page;
let grace: Page;
let slug = "";
let workspaceId = "";
let graceKey: { readonly id: string; readonly key: string };
const memberEmail = "grace@example.com";

const environment = prepareEnvironment(async ({ browser, baseUrl, command }) => {
  ({ page: ada } = await browser.open());
  ({ page: grace } = await browser.open());
  await enter(ada, baseUrl);
  await enter(grace, baseUrl, memberEmail);
  const workspace = await getWorkspace(ada);
  ({ slug, id: workspaceId } = workspace);
  await command(["member", "add", "--workspace", workspace.id, "--user", memberEmail, "--role", "member"]);
  graceKey = await proceduresOf(grace).apiKeys.create.mutate({ name: "Grace’s reports" });
  expect(await readWithKey()).toBe(200);
});

/** The status of a request with Grace's key in Ada's workspace. */
async function readWithKey(): Promise<number> {
  const headers = { Authorization: `Bearer ${graceKey.key}` };
  return (await fetch(`${environment.baseUrl}/open/workspaces/${workspaceId}`, { headers })).status;
}

/** Sets up an authenticator app on the security page. */
async function setUpTotp(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Set up an authenticator app" }).click();
  const dialog = page.getByRole("dialog", { name: "Set up an authenticator app" });
  const secret = ((await dialog.locator("code").textContent()) ?? "").replaceAll(" ", "");
  await dialog.getByRole("textbox", { name: "Code" }).fill(new TOTP({ secret }).generate());
  await page.keyboard.press("Enter");
  await closeWithoutCopying(page.getByRole("dialog", { name: "Your recovery codes" }));
}

test("an owner requires it after a dialog that names the members without one", async () => {
  await ada.goto(`${environment.baseUrl}/w/${slug}/settings`);
  await ada.getByRole("button", { name: "Require a second factor" }).click();
  const dialog = ada.getByRole("dialog", { name: "Require a second factor?" });
  await dialog.getByText("2 members have no second factor.").waitFor();
  await dialog.getByText(memberEmail).waitFor();
  await ada.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await dialog.getByRole("button", { name: "Require second factor" }).click();
  await dialog.getByText("Set up a second factor for your own account").waitFor();
  await ada.goto(`${environment.baseUrl}/account/security`);
  await setUpTotp(ada);
  await ada.goto(`${environment.baseUrl}/w/${slug}/settings`);
  await ada.getByRole("button", { name: "Require a second factor" }).focus();
  await ada.keyboard.press("Enter");
  await dialog.getByText("1 member has no second factor.").waitFor();
  await dialog.getByText("1 key would stop working in this workspace. It was last used").waitFor();
  const stopped = dialog.getByRole("list", { name: "Keys that would stop working" }).getByRole("listitem");
  await stopped.getByText("Grace’s reports").waitFor();
  await stopped.getByText("Owner has no second factor").waitFor();
  await ada.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  expect(await readWithKey()).toBe(200);
  await dialog.getByRole("button", { name: "Require second factor" }).click();
  await ada.getByText("Members now need a second factor.").waitFor();
  await ada.getByText("Members without a second factor can’t open this workspace, and their API").waitFor();
  await ada.goto(`${environment.baseUrl}/w/${slug}/members`);
  const rows = ada.getByRole("table", { name: "Members" }).getByRole("row");
  await rows.filter({ hasText: visitor.email }).getByText("Second factor").waitFor();
  expect(await rows.filter({ hasText: memberEmail }).getByText("Second factor").count()).toBe(0);
  expect(await readWithKey()).toBe(403);
  await ada.goto(`${environment.baseUrl}/w/${slug}/api-keys`);
  await ada.getByRole("row").filter({ hasText: "Grace’s reports" }).getByText("No second factor").waitFor();
  await ada.goto(`${environment.baseUrl}/w/${slug}/audit`);
  await ada.getByText("required a second factor from all members").waitFor();
});

test("a member without a second factor gets a page that leads to the setup, on a phone too, and then the workspace", async () => {
  await grace.setViewportSize({ width: 375, height: 812 });
  await grace.goto(`${environment.baseUrl}/w/${slug}`);
  await grace.getByRole("heading", { name: /requires a second factor$/ }).waitFor();
  await grace.getByText("Until then, this workspace also rejects your API keys.").waitFor();
  await grace.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(grace)).toEqual([]);
  expect(await grace.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  expect((await proceduresOf(grace).session.current.query())?.workspaces).toHaveLength(2);
  await grace.keyboard.press("Control+k");
  const search = grace.getByRole("dialog", { name: "Search" });
  await search.getByRole("combobox").fill("nobody");
  await search.getByText("Nothing matches “nobody”.").waitFor();
  await grace.keyboard.press("Escape");
  await grace.setViewportSize({ width: 1_280, height: 800 });
  await grace.goto(`${environment.baseUrl}/account/api-keys/${graceKey.id}`);
  await grace.getByText("There, keys must belong to a member with a second factor.").waitFor();
  await grace.goto(`${environment.baseUrl}/w/${slug}`);
  await grace.getByRole("link", { name: "Set up a second factor" }).click();
  await grace.getByRole("heading", { name: "Security", exact: true }).waitFor();
  await setUpTotp(grace);
  await grace.goto(`${environment.baseUrl}/w/${slug}`);
  await grace.getByRole("heading", { level: 1 }).waitFor();
  expect(await grace.getByText("requires a second factor").count()).toBe(0);
  expect(await readWithKey()).toBe(200);
});

test("a member without a second factor leaves from that page", async () => {
  const { page: joan } = await environment.browser.open();
  await enter(joan, environment.baseUrl, "joan@example.com");
  const { id } = await getWorkspace(ada);
  await environment.command([
    ...["member", "add", "--workspace", id, "--user", "joan@example.com", "--role", "member"],
  ]);
  await createKey(joan, "Reports");
  await joan.goto(`${environment.baseUrl}/w/${slug}/members`);
  await joan.getByRole("button", { name: "Leave the workspace" }).click();
  const dialog = joan.getByRole("dialog");
  await dialog.getByText("To rejoin, you need an invitation.").waitFor();
  // The key is already rejected, because its owner has no second factor.
  await dialog.getByText("This workspace already rejects all of your API keys.").waitFor();
  // The page stays while the workspace is loaded again, also if that gets no response.
  let isFailing = true;
  await joan.route(callsOf("workspaces.get"), (route) => (isFailing ? route.abort() : route.fallback()));
  // The app checks whether the server is ready after the last attempt has failed.
  let hasFailed = false;
  void joan.waitForRequest("**/readyz").then(() => {
    hasFailed = true;
  });
  await returnToTab(joan, async () => hasFailed);
  await joan.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))");
  expect(await dialog.count()).toBe(1);
  expect(
    await joan.getByRole("heading", { name: /requires a second factor$/, includeHidden: true }).count(),
  ).toBe(1);
  isFailing = false;
  await joan.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(joan)).toEqual([]);
  await dialog.getByRole("button", { name: "Leave workspace", exact: true }).click();
  await joan.getByText("You have left").waitFor();
  expect((await proceduresOf(joan).session.current.query())?.workspaces).toHaveLength(1);
});

test("the operator ends the requirement with the command", async () => {
  const { id } = await getWorkspace(ada);
  const edited = await environment.command(["workspace", "edit", id, "--no-requires-second-factor"]);
  expect(edited).toMatchObject({ requiresSecondFactor: false, version: 3 });
  await ada.goto(`${environment.baseUrl}/w/${slug}/settings`);
  await ada.getByText("Not required").waitFor();
});

test("it isn’t required without the members and keys that this affects", async () => {
  const dialog = ada.getByRole("dialog", { name: "Require a second factor?" });
  const confirm = dialog.getByRole("button", { name: "Require second factor" });
  const opener = ada.getByRole("button", { name: "Require a second factor" });
  const check = await holdCall(ada, "[^?]*previewPolicy");
  await opener.click();
  await check.isSent;
  expect(await confirm.isDisabled()).toBe(true);
  check.release();
  await dialog.getByText("All members have a second factor.").waitFor();
  expect(await confirm.isDisabled()).toBe(false);
  await dialog.getByRole("button", { name: "Cancel" }).press("Enter");
  await dialog.waitFor({ state: "detached" });
  for (const procedure of ["members.withoutSecondFactor", "workspaceKeys.previewPolicy"]) {
    await failCalls(ada, procedure);
    await opener.click();
    const failure = dialog.getByRole("alert");
    await failure.getByText("Couldn’t check which members and keys are affected").waitFor();
    await failure.getByText("req-1234").waitFor();
    expect(await confirm.isDisabled()).toBe(true);
    await ada.unrouteAll();
    await untilFocused(dialog);
    // Unlike a key press, a click waits until the other call has ended too, during which the button ignores both.
    await failure.getByRole("button", { name: "Try again" }).click();
    await dialog.getByText("All members have a second factor.").waitFor();
    expect(await confirm.isDisabled()).toBe(false);
    await dialog.getByRole("button", { name: "Cancel" }).and(ada.locator(":focus")).press("Enter");
    await dialog.waitFor({ state: "detached" });
  }
});

test("an open dialog keeps its action when someone else changes the requirement", async () => {
  const { workspaces } = proceduresOf(ada);
  for (const isRequiring of [true, false]) {
    const before = isRequiring ? "Not required" : "Required";
    await ada.getByText(before, { exact: true }).waitFor();
    await ada
      .getByRole("button", { name: isRequiring ? "Require a second factor" : "Stop requiring it" })
      .click();
    const dialog = ada.getByRole("dialog");
    const name = isRequiring ? "Require second factor" : "Stop requiring second factor";
    const confirm = dialog.getByRole("button", { name, exact: true });
    await untilFocused(dialog);
    const { version } = await workspaces.get.query({ workspaceId });
    await workspaces.update.mutate({ workspaceId, requiresSecondFactor: isRequiring, version });
    // The page behind the dialog shows the change.
    await returnToTab(ada, async () => (await ada.getByText(before, { exact: true }).count()) === 0);
    await confirm.click();
    await dialog.getByText("Someone changed the workspace at the same time. Try again.").waitFor();
    await confirm.click();
    await dialog.waitFor({ state: "detached" });
    expect(await workspaces.get.query({ workspaceId })).toMatchObject({ requiresSecondFactor: isRequiring });
  }
});
