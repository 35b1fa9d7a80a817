import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { holdCall } from "./hold-call.ts";
import { callsOf } from "./lose-response.ts";
import { untilFocused } from "./until-focused.ts";

// Ada, an operator, disables Grace's workspace and enables it again. Each test continues where the previous one ended.

const environment = prepareEnvironment();
const graceEmail = "grace@example.com";

let ada: Page;
let grace: Page;
let slug = "";
let workspaceId = "";
let secret = "";

beforeAll(async () => {
  ({ page: ada } = await environment.browser.open());
  await enter(ada, environment.baseUrl);
  ({ page: grace } = await environment.browser.open());
  await enter(grace, environment.baseUrl, graceEmail);
  ({ id: workspaceId, slug } = await getWorkspace(grace));
  ({ key: secret } = await proceduresOf(grace).apiKeys.create.mutate({ name: "Reports" }));
});

/** The status of a request with Grace's key in the workspace. */
async function readWithKey(): Promise<number> {
  const headers = { Authorization: `Bearer ${secret}` };
  return (await fetch(`${environment.baseUrl}/open/workspaces/${workspaceId}`, { headers })).status;
}

const row = () => ada.getByRole("row").filter({ hasText: `/w/${slug}` });
const dialog = () => ada.getByRole("dialog");

async function choose(action: string): Promise<void> {
  await row()
    .getByRole("button", { name: /^Manage / })
    .click();
  await ada.getByRole("menuitem", { name: action, exact: true }).click();
}

async function readOverflow(page: Page): Promise<unknown> {
  return await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
}

test("the operator sees what stops working, and disables the workspace", async () => {
  await ada.goto(`${environment.baseUrl}/operator/workspaces`);
  await choose("Disable");
  await dialog().getByRole("definition").first().getByText("1", { exact: true }).waitFor();
  expect(await dialog().getByRole("definition").allTextContents()).toEqual(["1", "0", "1", "0"]);
  await ada.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  expect(await readWithKey()).toBe(200);
  await grace.goto(`${environment.baseUrl}/w/${slug}/keyspaces`);
  await grace.getByRole("heading", { name: "No keyspaces yet" }).waitFor();
  await grace.getByRole("button", { name: "New keyspace" }).click();
  await untilFocused(grace.getByRole("dialog"));
  await grace.getByRole("dialog").getByLabel("Name", { exact: true }).fill("Production");
  await grace.getByRole("dialog").getByLabel("Prefix").fill("sk_live");
  await dialog().getByRole("button", { name: "Disable workspace" }).click();
  await ada.getByText("is disabled.").waitFor();
  await row().getByText("Disabled", { exact: true }).waitFor();
  // The focus returns to the button of the menu.
  await row()
    .getByRole("button", { name: /^Manage / })
    .and(ada.locator(":focus"))
    .waitFor();
  expect(await readWithKey()).toBe(403);
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
});

test("an open page of its members shows that it is disabled after the next call, without a reload", async () => {
  await grace.getByRole("dialog").getByRole("button", { name: "Create keyspace" }).click();
  await grace.getByRole("heading", { level: 1, name: "is disabled" }).waitFor();
  expect(await grace.getByRole("dialog").count()).toBe(0);
  await grace.getByRole("button", { name: /^Workspace: / }).click();
  await grace.getByRole("menuitem").getByText("Disabled", { exact: true }).waitFor();
  await grace.keyboard.press("Escape");
});

test("the page stays if the server doesn’t respond, and says so", async () => {
  const check = grace.getByRole("button", { name: "Check again" });
  let isFailing = true;
  await grace.route(callsOf("workspaces.get"), (route) => (isFailing ? route.abort() : route.fallback()));
  await expect.poll(() => check.isEnabled()).toBe(true);
  await check.press("Enter");
  await grace.getByRole("status").getByText("The server didn’t respond.").waitFor();
  await grace.getByRole("heading", { level: 1, name: "is disabled" }).waitFor();
  // The app asks again when the server responds.
  isFailing = false;
  await grace.getByRole("status").getByText("The workspace is still disabled.").waitFor();
});

test("its members see that it is disabled instead of its pages, and a badge in the list of workspaces", async () => {
  for (const path of ["", "/members", "/settings"]) {
    await grace.goto(`${environment.baseUrl}/w/${slug}${path}`);
    await grace.getByRole("heading", { level: 1, name: "is disabled" }).waitFor();
  }
  expect(await grace.title()).toBe("Workspace disabled · Latchkey");
  // The search doesn't say that the server failed.
  await grace.keyboard.press("Control+k");
  const search = grace.getByRole("dialog", { name: "Search" });
  await search.getByRole("combobox").fill("nobody");
  await search.getByText("Nothing matches “nobody”.").waitFor();
  await grace.keyboard.press("Escape");
  await search.waitFor({ state: "detached" });
  await grace.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(grace)).toEqual([]);
  await grace.getByRole("button", { name: /^Workspace: / }).click();
  await grace.getByRole("menuitem").getByText("Disabled", { exact: true }).waitFor();
  // Next to a long name, the badge and the check mark are not cut off.
  const item = "document.querySelector('[role=menuitem]')";
  expect(await grace.evaluate(`${item}.scrollWidth - ${item}.clientWidth`)).toBe(0);
  expect(await findProblemsInBothSchemes(grace)).toEqual([]);
  await grace.keyboard.press("Escape");
  await grace.setViewportSize({ width: 375, height: 700 });
  expect(await readOverflow(grace)).toBe(0);
  await grace.setViewportSize({ width: 1280, height: 800 });
});

test("other workspaces are not affected", async () => {
  const other = await proceduresOf(grace).workspaces.create.mutate({ name: "Elsewhere" });
  await grace.goto(`${environment.baseUrl}/w/${other.slug}/members`);
  await grace.getByRole("heading", { level: 1, name: "Members" }).waitFor();
  await grace.goto(`${environment.baseUrl}/w/${slug}`);
  await grace.getByRole("heading", { level: 1, name: "is disabled" }).waitFor();
});

test("a member checks again with the keyboard, and learns that the workspace is still disabled", async () => {
  const check = grace.getByRole("button", { name: "Check again" });
  const result = grace.getByRole("status").getByText("The workspace is still disabled.");
  for (const _ of [1, 2]) {
    const call = await holdCall(grace, "[^?]*workspaces.get");
    // While the page loads the workspace itself, the button is disabled.
    await expect.poll(() => check.isEnabled()).toBe(true);
    await check.press("Enter");
    await call.isSent;
    // The result of the former check is removed, so that the next one is announced.
    await result.waitFor({ state: "detached" });
    call.release();
    await result.waitFor();
    await check.and(grace.locator(":focus")).waitFor();
  }
  await grace.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(grace)).toEqual([]);
});

test("the operator enables the workspace with the keyboard, and its members continue", async () => {
  await row()
    .getByRole("button", { name: /^Manage / })
    .focus();
  await ada.keyboard.press("Enter");
  await untilFocused(ada.getByRole("menu"));
  await ada.keyboard.press("ArrowDown");
  await ada.getByRole("menuitem", { name: "Enable", exact: true }).and(ada.locator(":focus")).waitFor();
  await ada.keyboard.press("Enter");
  await untilFocused(dialog());
  await ada.keyboard.press("Tab");
  await dialog().getByRole("button", { name: "Enable workspace" }).and(ada.locator(":focus")).waitFor();
  await ada.keyboard.press("Enter");
  await ada.getByText("is enabled.").waitFor();
  expect(await row().getByText("Disabled", { exact: true }).count()).toBe(0);
  expect(await readWithKey()).toBe(200);
  await grace.getByRole("button", { name: "Check again" }).click();
  await grace.getByRole("heading", { level: 1, name: "is disabled" }).waitFor({ state: "detached" });
  await grace.getByRole("button", { name: /^Workspace: / }).click();
  await grace.getByRole("menuitem", { name: "Elsewhere" }).waitFor();
  await expect.poll(() => grace.getByRole("menuitem").getByText("Disabled", { exact: true }).count()).toBe(0);
  await grace.keyboard.press("Escape");
  await grace.getByRole("navigation").getByRole("link", { name: "Members" }).first().click();
  await grace.getByRole("heading", { level: 1, name: "Members" }).waitFor();
});

test("the operator's own list of workspaces shows the change", async () => {
  const { slug: own } = await getWorkspace(ada);
  const ownRow = ada.getByRole("row").filter({ hasText: new RegExp(`/w/${own}(?!-)`) });
  for (const action of ["Disable", "Enable"]) {
    await ownRow.getByRole("button", { name: /^Manage / }).click();
    await ada.getByRole("menuitem", { name: action, exact: true }).click();
    await dialog()
      .getByRole("button", { name: `${action} workspace` })
      .click();
    await dialog().waitFor({ state: "detached" });
    await ada.getByRole("button", { name: /^Workspace: / }).click();
    const tag = ada.getByRole("menuitem").getByText("Disabled", { exact: true });
    await tag.waitFor({ state: action === "Disable" ? "visible" : "detached" });
    await ada.keyboard.press("Escape");
  }
});

test("the instance log shows both changes", async () => {
  await choose("Show in the instance log");
  const log = ada.getByRole("table", { name: "Instance log" });
  await log.getByText("Workspace disabled").waitFor();
  await log.getByText("Workspace enabled").waitFor();
});
