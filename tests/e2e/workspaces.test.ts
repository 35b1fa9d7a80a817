import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { createKey, signUp } from "../support/visitor.ts";
import { proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { failCalls } from "./fail-calls.ts";
import { holdCall } from "./hold-call.ts";
import { untilFocused } from "./until-focused.ts";

// One visit in steps: each test continues where the previous one ended.

let page: Page;
let complaints: readonly string[];

const environment = prepareEnvironment(
  async ({ browser, baseUrl }) => {
    ({ page, complaints } = await browser.open());
    await signUp(page, baseUrl);
  },
  { MAX_WORKSPACES_PER_USER: "2", MAX_KEYS_PER_USER: "1" },
);

const first = "ada-lovelaces-workspace";
const dialog = () => page.getByRole("dialog");
const switcher = (name: string) => page.getByRole("button", { name: `Workspace: ${name}`, exact: true });
const focused = () => page.locator(":focus");
const path = () => new URL(page.url()).pathname;

async function getSettings(slug: string) {
  const { session, workspaces } = proceduresOf(page);
  const own = (await session.current.query())?.workspaces ?? [];
  const workspaceId = own.find((workspace) => workspace.slug === slug)?.id ?? "none";
  return await workspaces.get.query({ workspaceId });
}

/** Changes the workspace as another user, or as the same user in another window. */
async function changeElsewhere(
  slug: string,
  changes: { readonly name?: string; readonly description?: string },
): Promise<void> {
  const { id: workspaceId, version } = await getSettings(slug);
  await proceduresOf(page).workspaces.update.mutate({ workspaceId, ...changes, version });
}

test("offers a new workspace from the header, and asks for its name", async () => {
  await switcher("Ada Lovelace’s workspace").click();
  await page.getByRole("menuitem", { name: "Ada Lovelace’s workspace" }).waitFor();
  await page.getByRole("menuitem", { name: "New workspace" }).click();
  await dialog().getByRole("textbox", { name: "Name" }).and(focused()).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Create workspace" }).click();
  await dialog().getByText("Enter a name, for example your team’s name.").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("textbox", { name: "Name" }).and(focused()).waitFor();
});

test("opens the overview of a new workspace", async () => {
  await page.keyboard.type("  Globex   Corporation ");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Globex Corporation", level: 1 }).waitFor();
  expect(path()).toBe("/w/globex-corporation");
  await dialog().waitFor({ state: "detached" });
  await switcher("Globex Corporation").waitFor();
});

test("explains what to do when a user has as many workspaces or API keys as the instance allows", async () => {
  await switcher("Globex Corporation").click();
  await page.getByRole("menuitem", { name: "New workspace" }).click();
  await dialog().getByLabel("Name").fill("Third");
  await page.keyboard.press("Enter");
  await dialog()
    .getByRole("alert")
    .getByText("The quota for workspaces owned by one user (2) is reached.")
    .waitFor();
  await dialog().getByRole("button", { name: "Cancel" }).click();
  await dialog().waitFor({ state: "detached" });

  await createKey(page, "Only");
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("button", { name: "New API key" }).click();
  await dialog().getByLabel("Name").fill("Second");
  await page.keyboard.press("Enter");
  const alert = dialog().getByRole("alert");
  await alert
    .getByText("The quota for API keys per user (1) is reached. Delete a key that is no longer used")
    .waitFor();
  await page.goto(`${environment.baseUrl}/w/globex-corporation`);
});

test("marks only the current page in the navigation", async () => {
  const navigation = page.getByRole("navigation", { name: "Main" });
  for (const label of ["Members", "Audit log", "Settings", "Overview"]) {
    await navigation.getByRole("link", { name: label }).click();
    await navigation.locator(`[aria-current="page"]`).getByText(label).waitFor();
    expect(await navigation.locator(`[aria-current="page"]`).allTextContents()).toEqual([label]);
  }
  await page.goto(`${environment.baseUrl}/w/globex-corporation/members?role=owner`);
  await navigation.locator(`[aria-current="page"]`).getByText("Members").waitFor();
});

test("stays on the same kind of page when switching workspaces, with the mouse or the keyboard", async () => {
  await switcher("Globex Corporation").focus();
  await page.keyboard.press("Enter");
  const entry = page.getByRole("menuitem", { name: "Ada Lovelace’s workspace" });
  await entry.and(focused()).waitFor();
  await page
    .getByRole("menuitem", { name: "Globex Corporation" })
    .and(page.locator("[aria-current]"))
    .waitFor();
  expect(await entry.getAttribute("aria-current")).toBeNull();
  await page.keyboard.press("Enter");
  await switcher("Ada Lovelace’s workspace").waitFor();
  await page.getByRole("heading", { name: "Members", exact: true }).waitFor();
  expect(path()).toBe(`/w/${first}/members`);
  expect(new URL(page.url()).search).toBe("");
  await page.locator("main:focus").waitFor();
});

test("finds the pages of all workspaces, and a new workspace, with Ctrl+K", async () => {
  await page.keyboard.press("Control+k");
  await untilFocused(page.getByRole("dialog", { name: "Search" }));
  await page.getByRole("option", { name: "Settings" }).waitFor();
  await page.keyboard.type("settings of globex");
  await page.getByRole("option", { name: "Settings of Globex Corporation", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Settings", exact: true }).waitFor();
  expect(path()).toBe("/w/globex-corporation/settings");
  await page.keyboard.press("Control+k");
  await page.locator("input:focus").waitFor();
  await page.keyboard.type("new work");
  await page.getByRole("option", { name: "New workspace", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "New workspace" }).waitFor();
  await page
    .getByRole("textbox", { name: "Name" })
    .and(focused())
    .and(page.locator("[data-autofocus]"))
    .waitFor();
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
});

const nameField = () => page.getByRole("textbox", { name: "Name" });
const descriptionField = () => page.getByRole("textbox", { name: "Description" });
const save = () => page.getByRole("button", { name: "Save", exact: true });
const conflict = () =>
  page
    .getByRole("alert")
    .filter({ hasText: "The workspace was changed in another window or by someone else" });

/** Waits for a message and closes it, so that the next message with the same text is a new one. */
async function dismiss(message: string): Promise<void> {
  const notification = page.getByRole("alert").filter({ hasText: message });
  await notification.getByRole("button").click();
  await notification.waitFor({ state: "detached" });
}

test("renames a workspace, in the header too", async () => {
  await nameField().fill(" ");
  await nameField().press("Enter");
  await page.getByText("Enter a name, for example your team’s name.").waitFor();
  await nameField().fill("Initech");
  await nameField().press("Enter");
  await dismiss("Workspace settings saved.");
  await switcher("Initech").waitFor();
  expect(path()).toBe("/w/globex-corporation/settings");
  await page.reload();
  await switcher("Initech").waitFor();
});

test("describes a workspace, by keyboard, and shows the description on its overview", async () => {
  await descriptionField().fill("a".repeat(501));
  await save().click();
  await page.getByText("Use at most 500 characters. You entered 501.").waitFor();
  await descriptionField().and(focused()).waitFor();
  await descriptionField().fill("Billing and invoices.\nAsk Grace for access.");
  await page.keyboard.press("Control+Enter");
  await dismiss("Workspace settings saved.");
  await save().click();
  await dismiss("There are no changes to save.");
  const { version } = await getSettings("globex-corporation");
  expect(version).toBe(3);
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Overview" }).click();
  await page.getByText("Billing and invoices. Ask Grace for access.").waitFor();
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Settings" }).click();
  expect(await descriptionField().inputValue()).toBe("Billing and invoices.\nAsk Grace for access.");
});

test("keeps what is typed while a save is in flight, and the focus", async () => {
  await nameField().fill("Hooli");
  const call = await holdCall(page, "workspaces.update");
  await nameField().press("Enter");
  await call.isSent;
  await page.keyboard.press("End");
  await page.keyboard.type(" Labs");
  call.release();
  await switcher("Hooli").waitFor();
  await dismiss("Workspace settings saved.");
  expect(await nameField().inputValue()).toBe("Hooli Labs");
  await nameField().press("Enter");
  await switcher("Hooli Labs").waitFor();
  await nameField().and(focused()).waitFor();
  await dismiss("Workspace settings saved.");
  expect(await getSettings("globex-corporation")).toMatchObject({ name: "Hooli Labs" });
});

test("saves a name that was typed before another setting of the page was changed", async () => {
  await nameField().fill("Vandelay");
  await page.getByRole("button", { name: "Change retention" }).click();
  await dialog().getByLabel("Retention, in days").fill("365");
  await dialog().getByText("No event is deleted now.").waitFor();
  await dialog().getByRole("button", { name: "Save" }).click();
  await dialog().waitFor({ state: "detached" });
  await page.getByText("Kept for 365 days").waitFor();
  expect(await nameField().inputValue()).toBe("Vandelay");
  await save().click();
  await dismiss("Workspace settings saved.");
  expect(await conflict().count()).toBe(0);
  expect(await getSettings("globex-corporation")).toMatchObject({
    name: "Vandelay",
    auditRetentionDays: 365,
  });
});

test("reports that someone else saved first, shows their values, and lets the user decide", async () => {
  await nameField().fill("Mine");
  await changeElsewhere("globex-corporation", { name: "Theirs", description: "" });
  await save().click();
  await conflict().getByText("Theirs").waitFor();
  await conflict().getByText("Description", { exact: true }).waitFor();
  await conflict().and(focused()).waitFor();
  expect(await nameField().inputValue()).toBe("Mine");
  await conflict().getByRole("button", { name: "Discard changes" }).click();
  await nameField().and(focused()).waitFor();
  expect(await nameField().inputValue()).toBe("Theirs");
  await conflict().waitFor({ state: "detached" });
  await switcher("Theirs").waitFor();

  await nameField().fill("Mine");
  await changeElsewhere("globex-corporation", { description: "Kept" });
  // If the current version can't be loaded, the error is shown.
  await failCalls(page, "workspaces.get");
  await save().click();
  await page.getByRole("alert").getByText("The resource has changed.").waitFor();
  expect(await nameField().inputValue()).toBe("Mine");
  await page.unrouteAll();
  await save().click();
  await conflict().getByText("Kept").waitFor();
  expect(await conflict().getByText("Name", { exact: true }).count()).toBe(0);
  expect(await descriptionField().inputValue()).toBe("Kept");
  await save().click();
  await dismiss("Workspace settings saved.");
  await conflict().waitFor({ state: "detached" });
  await switcher("Mine").waitFor();
  expect(await getSettings("globex-corporation")).toMatchObject({ name: "Mine", description: "Kept" });
});

test("deletes a workspace after its name is typed, and opens another overview", async () => {
  await page.getByText("and the service accounts with their API keys are deleted.").waitFor();
  await page.getByRole("button", { name: "Delete workspace" }).click();
  await dialog().getByText("for you, its only member. The keys that it issued stop working").waitFor();
  await dialog().getByText("and its service accounts with their API keys are deleted").waitFor();
  const confirm = dialog().getByRole("textbox", { name: "Enter “Mine” to confirm" });
  await confirm.and(focused()).waitFor();
  await page.keyboard.type("mine");
  await page.keyboard.press("Enter");
  await dialog().getByText("Enter “Mine” exactly.").waitFor();
  await confirm.and(focused()).waitFor();
  await confirm.fill("Mine");
  await page.keyboard.press("Enter");
  await page.getByText("“Mine” was deleted. API keys can no longer access it.").waitFor();
  await page.getByRole("heading", { name: "Ada Lovelace’s workspace", level: 1 }).waitFor();
  expect(path()).toBe(`/w/${first}`);
  await dialog().waitFor({ state: "detached" });
  await switcher("Ada Lovelace’s workspace").click();
  await page.getByRole("menuitem", { name: "New workspace" }).waitFor();
  expect(await page.getByRole("menuitem").count()).toBe(2);
  await page.keyboard.press("Escape");
  await page.goto(`${environment.baseUrl}/w/globex-corporation/settings`);
  await page.getByRole("heading", { name: "Page not found" }).waitFor();
});

test("works without any workspace, and creates one again", async () => {
  await page.goto(`${environment.baseUrl}/w/${first}/settings`);
  // A section that loads while the mouse button is pressed would move the button away.
  await page.waitForLoadState("networkidle");
  await page.getByRole("button", { name: "Delete workspace" }).click();
  await dialog().getByRole("textbox").fill("Ada Lovelace’s workspace");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Your API keys", exact: true }).waitFor();
  expect(await page.getByRole("link", { name: "Overview", exact: true }).count()).toBe(0);
  await switcher("No workspace").click();
  await page.getByRole("menuitem", { name: "New workspace" }).click();
  await dialog().getByLabel("Name").fill("Phoenix");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Phoenix", level: 1 }).waitFor();
});

test("caused no browser errors other than the rejected requests", () => {
  expect(complaints.filter((complaint) => !/412|422|500/.test(complaint))).toEqual([]);
});
