import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { createKey, enter, signIn, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { untilFocused } from "./until-focused.ts";

// Ada owns a workspace. Grace, Linus and Margaret join and leave it. Each test continues where the previous one
// ended.

let ada: Page;
let grace: Page;
let workspace: Awaited<ReturnType<typeof getWorkspace>>;
let graceKey: string;

const people = ["Grace Hopper", "Linus Torvalds", "Margaret Hamilton"];
const emailOf = (name: string) => `${name.split(" ")[0]?.toLowerCase()}@example.com`;

const environment = prepareEnvironment(async ({ browser, baseUrl, command }) => {
  for (const name of people) {
    const options = ["--email", emailOf(name), "--name", name, "--password-stdin"];
    await command(["user", "create", ...options], visitor.password);
  }
  ({ page: ada } = await browser.open());
  await enter(ada, baseUrl);
  workspace = await getWorkspace(ada);
  ({ page: grace } = await browser.open());
  await signIn(grace, baseUrl, emailOf("Grace Hopper"));
  graceKey = await createKey(grace, "Nightly backup");
});

async function add(name: string, role: string): Promise<void> {
  const options = ["--workspace", workspace.id, "--user", emailOf(name), "--role", role];
  await environment.command(["member", "add", ...options]);
}

const addressOf = (page: string) => `${environment.baseUrl}/w/${workspace.slug}/${page}`;
const row = (page: Page, name: string) =>
  page.getByRole("row").filter({ has: page.getByRole("rowheader", { name }) });
const roleOf = (page: Page, name: string) => page.getByRole("combobox", { name: `Role of ${name}` });
const dialogOf = (page: Page) => page.getByRole("dialog");
const focused = (page: Page) => page.locator(":focus");
/** The texts of the focused element's tooltips. The tooltip that the focus left may still be fading out. */
async function tooltipsOfFocused(page: Page): Promise<string[]> {
  const id = await focused(page).getAttribute("aria-describedby");
  return await page.locator(`[id="${id}"]`).allTextContents();
}
const names = async (page: Page) =>
  (await page.getByRole("rowheader").allTextContents()).map((text) => text.replace("You", ""));

/** Returns the status of a request for the audit log with Grace's key. */
async function askWithKey(): Promise<number> {
  const headers = { Authorization: `Bearer ${graceKey}` };
  const address = `${environment.baseUrl}/open/workspaces/${workspace.id}/audit-events`;
  return (await fetch(address, { headers })).status;
}

test("shows members that the command has added", async () => {
  await ada.goto(addressOf("members"));
  await ada.getByText("1 member", { exact: true }).waitFor();
  await add("Grace Hopper", "admin");
  await add("Linus Torvalds", "member");
  await ada.reload();
  await ada.getByText("3 members", { exact: true }).waitFor();
  expect(await names(ada)).toEqual(["Ada Lovelace", "Grace Hopper", "Linus Torvalds"]);
  await row(ada, "Linus Torvalds").getByText("linus@example.com").waitFor();
  await row(ada, "Ada Lovelace").getByText("You", { exact: true }).waitFor();
});

test("keeps search, role and sort order in the URL", async () => {
  await ada.getByRole("searchbox", { name: "Search members" }).fill("HOPPER");
  await ada.getByText("1 member", { exact: true }).waitFor();
  expect(new URL(ada.url()).search).toBe("?q=HOPPER");
  await ada.getByRole("combobox", { name: "Role", exact: true }).click();
  await ada.getByRole("option", { name: "Viewer" }).click();
  await ada.getByText("No member matches “HOPPER”").waitFor();
  expect(new URL(ada.url()).search).toBe("?q=HOPPER&role=viewer");
  await ada.getByRole("button", { name: "Clear filters" }).click();
  await ada.getByText("3 members", { exact: true }).waitFor();
  await ada.getByRole("button", { name: "Name", exact: true }).click();
  await ada.getByRole("button", { name: "Name", exact: true }).click();
  await ada.getByRole("columnheader", { name: "Name" }).and(ada.locator("[aria-sort=descending]")).waitFor();
  expect(new URL(ada.url()).search).toBe("?sort=-name");
  await ada.reload();
  await ada.getByText("3 members", { exact: true }).waitFor();
  expect(await names(ada)).toEqual(["Linus Torvalds", "Grace Hopper", "Ada Lovelace"]);
  await ada.goto(addressOf("members"));
});

test("shows the permissions of each role", async () => {
  await ada.getByRole("button", { name: "what each role can do" }).click();
  const line = dialogOf(ada).getByRole("row", { name: "Delete the workspace with everything in it" });
  await line.waitFor();
  expect(await line.getByRole("img", { name: "Yes" }).count()).toBe(1);
  await dialogOf(ada)
    .getByText(
      "Can view the workspace, verify issued keys, invite people, and manage the invitations they sent.",
    )
    .waitFor();
  await dialogOf(ada).getByText("Can view the workspace, but not change it.", { exact: true }).waitFor();
  await ada.keyboard.press("Escape");
  await dialogOf(ada).waitFor({ state: "detached" });
});

test("keeps the page while the roles load, and returns the focus after the dialog", async () => {
  const { page } = await environment.browser.open({ storageState: await ada.context().storageState() });
  await page.goto(addressOf("members"));
  await row(page, "Ada Lovelace").waitFor();
  const { promise: isAnswered, resolve: answer } = Promise.withResolvers<void>();
  await page.route(/instance\.roles/, async (route) => {
    await isAnswered;
    await route.continue();
  });
  const link = page.getByRole("button", { name: "what each role can do" });
  await link.focus();
  await page.keyboard.press("Enter");
  await dialogOf(page).getByRole("status", { name: "Loading the roles" }).waitFor();
  expect(await row(page, "Ada Lovelace").isVisible()).toBe(true);
  answer();
  await dialogOf(page).getByRole("row", { name: "See the members and their roles" }).waitFor();
  await page.keyboard.press("Escape");
  await link.and(focused(page)).waitFor();
});

test("finds a member of the current workspace with Ctrl+K", async () => {
  await grace.goto(addressOf("members"));
  await grace.getByText("3 members", { exact: true }).waitFor();
  await grace.keyboard.press("Control+k");
  await grace.locator("input:focus").waitFor();
  await grace.keyboard.type("torvalds");
  await grace
    .getByRole("group", { name: "Members" })
    .getByRole("option", { name: "Linus Torvalds", selected: true })
    .waitFor();
  await grace.keyboard.press("Enter");
  await grace.waitForURL(/\/members\?q=linus/);
  await grace.getByRole("row").filter({ hasText: "Linus Torvalds" }).waitFor();
});

test("offers an admin the actions of an admin, and none that only owners have", async () => {
  await grace.goto(addressOf("members"));
  await grace.getByText("3 members", { exact: true }).waitFor();
  await grace.getByRole("button", { name: "Remove Linus Torvalds" }).waitFor();
  const remove = `document.querySelector("[aria-label='Remove Linus Torvalds']")`;
  expect(await grace.evaluate(`getComputedStyle(${remove}).color`)).toBe("rgb(179, 38, 30)");
  expect(await grace.getByRole("button", { name: "Remove Ada Lovelace" }).count()).toBe(0);
  expect(await roleOf(grace, "Ada Lovelace").count()).toBe(0);
  await roleOf(grace, "Linus Torvalds").click();
  await grace.getByRole("option", { name: "Admin" }).waitFor();
  expect(await grace.getByRole("option").allTextContents()).toEqual(["Admin", "Member", "Viewer"]);
  await grace.keyboard.press("Escape");
  await grace.getByRole("link", { name: "Audit log" }).waitFor();
  expect(await askWithKey()).toBe(200);
});

test("changes a role by keyboard after a confirmation; it applies to keys on the next request and to pages on the next load", async () => {
  await roleOf(ada, "Grace Hopper").focus();
  await ada.keyboard.press("Enter");
  await ada.getByRole("option", { name: "Viewer" }).waitFor();
  // The list sets the option from which the arrow keys start in a timer, which may run after they were pressed.
  await ada.evaluate("new Promise((resolve) => setTimeout(resolve))");
  const underArrows = ada.locator("[data-combobox-selected]");
  for (let press = 1; press <= 4; press += 1) {
    await ada.keyboard.press("ArrowDown");
    if ((await underArrows.textContent()) === "Viewer") break;
  }
  await ada.keyboard.press("Enter");
  await ada.getByRole("dialog", { name: "Change the role of “Grace Hopper”?" }).waitFor();
  await dialogOf(ada).getByText("See who changed what in the workspace.").waitFor();
  await untilFocused(dialogOf(ada));
  await dialogOf(ada).getByRole("button", { name: "Cancel" }).and(focused(ada)).waitFor();
  expect(await askWithKey()).toBe(200);
  await ada.keyboard.press("Tab");
  await dialogOf(ada).getByRole("button", { name: "Make a viewer" }).and(focused(ada)).waitFor();
  await ada.keyboard.press("Enter");
  await ada.getByText("“Grace Hopper” is now a viewer.").waitFor();
  await expect.poll(() => roleOf(ada, "Grace Hopper").inputValue()).toBe("Viewer");
  await roleOf(ada, "Grace Hopper").and(focused(ada)).waitFor();
  expect(await askWithKey()).toBe(403);
  await grace.reload();
  await grace.getByText("3 members", { exact: true }).waitFor();
  await grace.getByRole("button", { name: "Leave the workspace" }).waitFor();
  expect(await grace.getByRole("button", { name: /^Remove/ }).count()).toBe(0);
  expect(await grace.getByRole("button", { name: "Invite member" }).count()).toBe(0);
  expect(await grace.getByRole("combobox", { name: /^Role of/ }).count()).toBe(0);
  expect(await grace.getByRole("link", { name: "Audit log" }).count()).toBe(0);
});

test("tells members without the permission why they can't see the audit log and the settings", async () => {
  await grace.goto(addressOf("audit"));
  await grace.getByText("You are a viewer here; only owners and admins can see who changed what.").waitFor();
  await grace.getByRole("link", { name: "Settings" }).click();
  await grace
    .getByText("Only owners and admins can edit this workspace. Only owners can delete it.")
    .waitFor();
  expect(await grace.getByRole("textbox", { name: "Name" }).count()).toBe(0);
  expect(await grace.getByRole("button", { name: "Delete workspace" }).count()).toBe(0);
  await grace.getByRole("button", { name: "Copy workspace ID" }).waitFor();
});

test("reports that someone else changed the role first, and shows the new role", async () => {
  const { members } = proceduresOf(ada);
  const workspaceId = workspace.id;
  const [linus] = (await members.list.query({ workspaceId, search: "linus" })).items;
  if (!linus) throw new Error("Linus is no member.");
  const { userId, version } = linus;
  await members.changeRole.mutate({ workspaceId, role: "viewer", userId, version });
  await roleOf(ada, "Linus Torvalds").click();
  await ada.getByRole("option", { name: "Admin" }).click();
  await dialogOf(ada).getByRole("button", { name: "Make an admin" }).click();
  const words = ada
    .getByRole("alert")
    .filter({ hasText: "Someone else changed this role at the same time." });
  await words.and(focused(ada)).waitFor();
  await ada.keyboard.press("Escape");
  await dialogOf(ada).waitFor({ state: "detached" });
  await expect.poll(() => roleOf(ada, "Linus Torvalds").inputValue()).toBe("Viewer");
  await roleOf(ada, "Linus Torvalds").click();
  await ada.getByRole("option", { name: "Admin" }).click();
  await dialogOf(ada).getByRole("button", { name: "Make an admin" }).click();
  await ada.getByText("“Linus Torvalds” is now an admin.").waitFor();
});

test("doesn't let the only owner leave or change roles, and shows the reason, to keyboard users too", async () => {
  const reason =
    "You’re the only owner, so you can’t leave or change your role. Offer ownership to another member first: select Owner as their role.";
  expect(await roleOf(ada, "Ada Lovelace").count()).toBe(0);
  const leave = ada.getByRole("button", { name: "Leave the workspace" });
  expect(await leave.getAttribute("aria-disabled")).toBe("true");
  await leave.focus();
  // A tooltip opens only if the focus was moved by keyboard.
  await ada.keyboard.press("Shift+Tab");
  const role = ada.getByRole("button", { name: "Role of Ada Lovelace: Owner" });
  await role.and(focused(ada)).waitFor();
  await expect.poll(() => tooltipsOfFocused(ada)).toEqual([reason]);
  expect(await role.getAttribute("aria-description")).toBe(reason);
  await ada.keyboard.press("Tab");
  await leave.and(focused(ada)).waitFor();
  await expect.poll(() => tooltipsOfFocused(ada)).toEqual([reason]);
  await ada.keyboard.press("Enter");
  expect(await dialogOf(ada).count()).toBe(0);
});

test("names the consequences before a removal, and notifies a removed member who has the workspace open", async () => {
  await add("Margaret Hamilton", "viewer");
  const { page: margaret } = await environment.browser.open();
  await signIn(margaret, environment.baseUrl, emailOf("Margaret Hamilton"));
  await margaret.goto(addressOf("members"));
  await margaret.getByText("4 members", { exact: true }).waitFor();
  await ada.reload();
  await ada.getByRole("button", { name: "Remove Margaret Hamilton" }).click();
  await ada.getByRole("dialog", { name: "Remove “Margaret Hamilton”?" }).waitFor();
  await dialogOf(ada).getByText("This person can no longer see “Ada Lovelace’s workspace”").waitFor();
  await dialogOf(ada).getByText("margaret@example.com").waitFor();
  await dialogOf(ada).getByRole("button", { name: "Remove" }).click();
  await ada.getByText("“Margaret Hamilton” is no longer a member.").waitFor();
  await ada.getByText("3 members", { exact: true }).waitFor();
  await ada.locator("main:focus").waitFor();

  // Data that is younger than one second is not fetched again.
  await margaret.waitForTimeout(1_100);
  await margaret.getByRole("link", { name: "Settings" }).click();
  await margaret.getByText("You are no longer a member of “Ada Lovelace’s workspace”").waitFor();
  await margaret.getByRole("button", { name: "Continue" }).click();
  await margaret.getByRole("heading", { name: "Margaret Hamilton’s workspace", level: 1 }).waitFor();
});

test("lets a member leave, and returns to the overview without the workspace in the switcher", async () => {
  await grace.goto(addressOf("members"));
  await grace.getByRole("button", { name: "Leave the workspace" }).click();
  await dialogOf(grace).getByRole("button", { name: "Leave" }).click();
  await grace.getByText("You have left “Ada Lovelace’s workspace”.").waitFor();
  await grace.getByRole("heading", { name: "Grace Hopper’s workspace", level: 1 }).waitFor();
  await grace.getByRole("button", { name: /^Workspace: / }).click();
  await grace.getByRole("menuitem", { name: "Grace Hopper’s workspace" }).waitFor();
  expect(await grace.getByRole("menuitem").count()).toBe(2);
  await grace.goto(addressOf("members"));
  await grace.getByRole("heading", { name: "Page not found" }).waitFor();
});

test("shows all of these changes in the audit log", async () => {
  await ada.getByRole("link", { name: "Audit log" }).click();
  await ada.getByText("9 events").waitFor();
  const lines = await ada
    .getByRole("row")
    .evaluateAll((rows) =>
      rows.slice(1).map((line) => [...line.children].slice(0, 2).map((cell) => cell.textContent)),
    );
  expect(lines).toEqual([
    ["Grace Hopper", "left the workspace; was a viewer"],
    ["Ada Lovelace", "removed Margaret Hamilton, who was a viewer"],
    ["The latchkey command", "added Margaret Hamilton as a viewer"],
    ["Ada Lovelace", "changed Linus Torvalds’s role from viewer to admin"],
    ["Ada Lovelace", "changed Linus Torvalds’s role from member to viewer"],
    ["Ada Lovelace", "changed Grace Hopper’s role from admin to viewer"],
    ["The latchkey command", "added Linus Torvalds as a member"],
    ["The latchkey command", "added Grace Hopper as an admin"],
    ["Ada Lovelace", "created the workspace “Ada Lovelace’s workspace”"],
  ]);
  const latest = ada.getByRole("row").nth(1);
  const id = await latest.getByRole("code").last().textContent();
  await latest.getByRole("button", { name: `Copy request ID ${id}` }).click();
  expect(await ada.evaluate("navigator.clipboard.readText()")).toBe(id);
  await ada.getByRole("combobox", { name: "Action" }).click();
  await ada.getByRole("option", { name: "Role changed" }).click();
  await ada.getByText("3 events").waitFor();
  expect(new URL(ada.url()).search).toBe("?action=member.role-changed");
  await ada.reload();
  await ada.getByText("3 events").waitFor();
  await ada.getByRole("combobox", { name: "Action" }).click();
  await ada.getByRole("option", { name: "Workspace renamed" }).click();
  await ada.getByText("No event matches").waitFor();
  await ada.getByRole("button", { name: "Clear filters" }).click();
  await ada.getByText("9 events").waitFor();
});

const wide = { width: 1280, height: 800 };
const phone = { viewport: { width: 375, height: 740 }, isMobile: true, hasTouch: true };
const settings: readonly (BrowserContextOptions & { readonly words: string })[] = [
  { words: "wide", viewport: wide },
  { words: "on a phone", ...phone },
];

test.each(settings)(
  "axe finds nothing in light and dark, and nothing is clipped, $words",
  async ({ words: _, ...options }) => {
    const { page, complaints } = await environment.browser.open(options);
    await page.context().addCookies(await ada.context().cookies());
    const found: Record<string, unknown> = {};
    const check = async (pageName: string) => {
      const problems = await findProblemsInBothSchemes(page);
      const overflow = await page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth",
      );
      if (problems.length > 0 || overflow !== 0) found[pageName] = { problems, overflow };
    };
    const close = async () => {
      await page.keyboard.press("Escape");
      await dialogOf(page).waitFor({ state: "detached" });
    };
    await page.goto(addressOf("members"));
    await roleOf(page, "Linus Torvalds").waitFor();
    await check("members");
    await roleOf(page, "Linus Torvalds").click();
    await page.getByRole("option", { name: "Viewer" }).waitFor();
    await check("choice of a role");
    await page.getByRole("option", { name: "Viewer" }).click();
    await dialogOf(page).waitFor();
    await check("confirmation of a role");
    await close();
    for (const button of ["Remove Linus Torvalds", "Invite member", "what each role can do"]) {
      await page.getByRole("button", { name: button }).click();
      await dialogOf(page).waitFor();
      await check(button);
      await close();
    }
    await page.getByRole("searchbox").fill("nobody");
    await page.getByText("No member matches").waitFor();
    await check("no match");
    await page.goto(addressOf("audit"));
    await page.getByText("9 events").waitFor();
    await check("audit log");
    await page.goto(addressOf("settings"));
    await page.getByRole("button", { name: "Delete workspace" }).click();
    await dialogOf(page).getByRole("button", { name: "Delete workspace" }).click();
    await dialogOf(page).getByText("” exactly.").waitFor();
    await check("deletion with an error");
    await close();
    await check("settings");
    await page.getByRole("button", { name: /^Workspace: / }).click();
    await page.getByRole("menuitem", { name: "New workspace" }).waitFor();
    await check("switcher");
    expect(found).toEqual({});
    expect(complaints).toEqual([]);
    await page.context().close();
  },
);

test("lets an owner reduce their own role if there is another owner, and hides the pages that need the former role", async () => {
  await ada.goto(addressOf("members"));
  await roleOf(ada, "Linus Torvalds").click();
  await ada.getByRole("option", { name: "Owner" }).click();
  await dialogOf(ada).getByText("They will be able to:").waitFor();
  await dialogOf(ada).getByRole("button", { name: "Make an owner" }).click();
  await ada.getByText("“Linus Torvalds” is now an owner.").waitFor();
  await roleOf(ada, "Ada Lovelace").click();
  await ada.getByRole("option", { name: "Member" }).click();
  await dialogOf(ada).getByRole("button", { name: "Become a member" }).click();
  await dialogOf(ada).waitFor({ state: "detached" });
  await ada.getByRole("link", { name: "Audit log" }).waitFor({ state: "detached" });
  expect(await ada.getByRole("combobox", { name: /^Role of/ }).count()).toBe(0);
  expect(await ada.getByRole("link", { name: "Service accounts" }).count()).toBe(0);
});

test("shows more of a long audit log", async () => {
  const { workspaces } = proceduresOf(ada);
  const { id: workspaceId, slug } = await workspaces.create.mutate({ name: "Busy" });
  for (let version = 1; version <= 59; version += 1) {
    await workspaces.rename.mutate({ workspaceId, name: `Busy ${version}`, version });
  }
  await ada.goto(`${environment.baseUrl}/w/${slug}/audit`);
  await ada.getByText("The latest 50 events").first().waitFor();
  await ada.getByRole("button", { name: "Show more" }).focus();
  await ada.keyboard.press("Enter");
  await ada.getByText("60 events").first().waitFor();
  await ada.getByText("created the workspace “Busy”").waitFor();
  expect(await ada.getByRole("button", { name: "Show more" }).count()).toBe(0);
  expect(await focused(ada).textContent()).toBe("60 events");
});
