import type { Page } from "playwright-core";
import { afterEach, beforeAll, expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { expectNotCached } from "../support/query-caches.ts";
import { enter, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { stayDuringCall } from "./stay-during-call.ts";
import { untilFocused } from "./until-focused.ts";

// The pages of the operator, and two people of whom one is an operator.

const environment = prepareEnvironment();
const grace = "grace@example.com";

let ada: Page;
let other: Page;
let complaints: readonly string[];

beforeAll(async () => {
  ({ page: ada, complaints } = await environment.browser.open());
  await enter(ada, environment.baseUrl);
  const create = ["user", "create", "--email", grace, "--name", "Grace Hopper", "--password-stdin"];
  await environment.command(create, visitor.password);
  ({ page: other } = await environment.browser.open());
  await signIn(other);
});

afterEach(() => {
  expect(complaints).toEqual([]);
});

async function signIn(page: Page): Promise<void> {
  await page.goto(`${environment.baseUrl}/sign-in`);
  await page.getByLabel("Email").fill(grace);
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "Your API keys" }).first().waitFor();
}

const dialog = () => ada.getByRole("dialog");
const log = () => ada.getByRole("table", { name: "Instance log" });

/** Chooses an action in the menu of Grace, and confirms it. The focus then returns to the button of the menu. */
async function manage(action: string, button: string): Promise<void> {
  await ada.getByRole("button", { name: "Manage Grace Hopper" }).click();
  await ada.getByRole("menuitem", { name: action, exact: true }).click();
  await dialog().getByRole("button", { name: button, exact: true }).click();
  await dialog().waitFor({ state: "detached" });
  await ada.getByRole("button", { name: "Manage Grace Hopper" }).and(ada.locator(":focus")).waitFor();
}

test("lists the users, and finds them by the URL's search", async () => {
  await ada.goto(environment.baseUrl);
  await ada.getByRole("link", { name: "Users", exact: true }).click();
  await ada.getByText("2 users").waitFor();
  await ada.getByRole("searchbox").fill("hopper");
  await ada.getByText("1 user", { exact: true }).waitFor();
  expect(new URL(ada.url()).search).toBe("?q=hopper");
  await ada.getByRole("searchbox").fill("nobody");
  await ada.getByRole("heading", { name: "No user matches “nobody”" }).waitFor();
  await ada.getByRole("button", { name: "Clear search" }).click();
  await ada.getByText("2 users").waitFor();
});

test("lists the workspaces of all users with their sizes, and finds them by the URL's search", async () => {
  await ada.goto(environment.baseUrl);
  await ada.getByRole("link", { name: "Workspaces", exact: true }).click();
  await ada.getByText("2 workspaces").waitFor();
  // Ada isn't a member of this workspace.
  const row = ada.getByRole("row").filter({ hasText: "Grace Hopper’s workspace" });
  await row.getByText("/w/grace-hopper").waitFor();
  await ada.setViewportSize({ width: 1440, height: 900 }); // Shows all columns.
  const sizes = ["/w/grace-hoppers-workspace", "1", "0", "0", "1", "0"];
  await expect
    .poll(async () => (await row.getByRole("cell").allInnerTexts()).slice(0, sizes.length))
    .toEqual(sizes);
  await ada.getByRole("button", { name: "Name" }).click();
  await ada.waitForURL("**/operator/workspaces?sort=name");
  await ada.getByRole("searchbox").fill("hopper");
  await ada.getByText("1 workspace", { exact: true }).waitFor();
  expect(new URL(ada.url()).search).toBe("?sort=name&q=hopper");
  await ada.getByRole("searchbox").fill("nothing");
  await ada.getByRole("heading", { name: "No workspace matches “nothing”" }).waitFor();
  await ada.getByRole("button", { name: "Clear search" }).click();
  await ada.getByText("2 workspaces").waitFor();
});

test("filters the workspaces by status, in the URL", async () => {
  const { id } = await getWorkspace(other);
  const { disableWorkspace, enableWorkspace } = proceduresOf(ada).operator;
  await disableWorkspace.mutate({ id });
  await ada.goto(`${environment.baseUrl}/operator/workspaces`);
  await ada.getByText("2 workspaces").waitFor();
  await ada.getByRole("combobox", { name: "Status" }).click();
  await ada.getByRole("option", { name: "Disabled" }).click();
  await ada.getByText("1 workspace", { exact: true }).waitFor();
  expect(new URL(ada.url()).search).toBe("?status=disabled");
  await ada.reload();
  await ada.getByText("1 workspace", { exact: true }).waitFor();
  await ada.getByRole("row").filter({ hasText: "Grace Hopper’s workspace" }).waitFor();
  await enableWorkspace.mutate({ id });
  await ada.reload();
  await ada.getByRole("heading", { name: "No workspace matches the filters" }).waitFor();
  await ada.getByRole("button", { name: "Clear filters" }).click();
  await ada.getByText("2 workspaces").waitFor();
});

test("sorts the workspaces by people and by API keys, in the URL, also in cards", async () => {
  const { id: adas } = await getWorkspace(ada);
  const { id: graces } = await getWorkspace(other);
  // Ada's workspace has more people, and Grace's has more API keys.
  await environment.command(["member", "add", "--workspace", adas, "--user", grace, "--role", "viewer"]);
  const { apiKeys } = proceduresOf(other);
  const { id: keyId } = await apiKeys.create.mutate({
    name: "Nightly build",
    settings: { workspaceIds: [graces] },
  });
  const [most, fewest] = [
    ["Ada", "Grace"],
    ["Grace", "Ada"],
  ] as const; // By people.
  const names = async (role: "row" | "listitem") => {
    const texts = await ada.getByRole(role).filter({ hasText: "’s workspace" }).allInnerTexts();
    return texts.map((text) => text.trim().split(" ")[0]);
  };
  const header = (name: string) => ada.getByRole("columnheader", { name });
  const click = (name: string) => header(name).getByRole("button").click();
  const isClipped = (name: string) =>
    header(name).evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
  const sorted = async (sort: string | null, order: readonly string[], role: "row" | "listitem" = "row") => {
    await expect.poll(() => new URL(ada.url()).searchParams.get("sort")).toBe(sort);
    await expect.poll(() => names(role)).toEqual(order);
  };

  await ada.setViewportSize({ width: 1440, height: 900 });
  await ada.goto(`${environment.baseUrl}/operator/workspaces`);
  await ada.getByText("2 workspaces").waitFor();
  await click("People");
  await sorted("memberCount", fewest);
  await click("People");
  await sorted("-memberCount", most);
  await ada.reload();
  await sorted("-memberCount", most);
  expect(await header("People").getAttribute("aria-sort")).toBe("descending");
  expect(await isClipped("People")).toBe(false);
  await click("API keys");
  await sorted("keyCount", most);
  await click("API keys");
  await sorted("-keyCount", fewest);
  await ada.reload();
  await sorted("-keyCount", fewest);
  expect(await header("API keys").getAttribute("aria-sort")).toBe("descending");
  expect(await isClipped("API keys")).toBe(false);
  expect(await header("People").getAttribute("aria-sort")).toBe("none");
  await click("API keys");
  await sorted(null, most); // In order of creation.

  await ada.setViewportSize({ width: 375, height: 800 });
  await ada.getByRole("combobox", { name: "Sort by" }).click();
  await ada.getByRole("option", { name: "People, fewest first" }).click();
  await sorted("memberCount", fewest, "listitem");
  await ada.getByRole("combobox", { name: "Sort by" }).click();
  await ada.getByRole("option", { name: "API keys, fewest first" }).click();
  await sorted("keyCount", most, "listitem");
  await ada.setViewportSize({ width: 1440, height: 900 });
  await apiKeys.delete.mutate({ id: keyId });
  await environment.command(["member", "remove", "--workspace", adas, "--user", grace]);
});

test("shows the health of the instance", async () => {
  await ada.getByRole("link", { name: "Instance health" }).click();
  await ada.getByText("Reachable").waitFor();
  for (const text of [
    "Open: anyone can sign up",
    "Not configured: links are shown instead",
    "The schema has every migration of this version.",
    "On time",
    environment.baseUrl,
  ]) {
    await ada.getByText(text).waitFor();
  }
});

test("shows the pages to nobody else", async () => {
  expect(await other.getByRole("link", { name: "Users", exact: true }).count()).toBe(0);
  for (const path of ["users", "workspaces", "instance", "log"]) {
    await other.goto(`${environment.baseUrl}/operator/${path}`);
    await other.getByRole("heading", { name: "Page not found" }).waitFor();
  }
});

test("signs out, disables and enables a user", async () => {
  await ada.goto(`${environment.baseUrl}/operator/users`);
  await manage("End all sessions", "End sessions");
  await ada.getByText("“Grace Hopper” is signed out of all devices.").waitFor();
  await other.goto(environment.baseUrl);
  await other.getByRole("button", { name: "Sign in" }).waitFor();
  await manage("Disable", "Disable user");
  await ada.getByText("“Grace Hopper” is disabled.").waitFor();
  const row = ada.getByRole("row").filter({ hasText: "Grace Hopper" });
  await row.getByText("Disabled", { exact: true }).waitFor();
  await manage("Enable", "Enable user");
  await ada.getByText("“Grace Hopper” is enabled.").waitFor();
  await signIn(other);
});

test("creates a reset link, by keyboard", async () => {
  await ada.getByRole("button", { name: "Manage Grace Hopper" }).focus();
  await ada.keyboard.press("Enter");
  await untilFocused(ada.getByRole("menu"));
  await ada.getByRole("menuitem", { name: "Create a reset link" }).focus();
  await ada.keyboard.press("Enter");
  await untilFocused(dialog());
  await dialog().getByRole("button", { name: "Cancel" }).and(ada.locator(":focus")).waitFor();
  await stayDuringCall(ada, "operator.createResetLink", () =>
    dialog().getByRole("button", { name: "Create link" }).press("Enter"),
  );
  const link = dialog().getByText(`${environment.baseUrl}/reset-password#`);
  const token = ((await link.textContent()) ?? "").split("#")[1] ?? "";
  expect(token).toHaveLength(43);
  await dialog().getByRole("button", { name: "Copy link" }).and(ada.locator(":focus")).waitFor();
  await ada.keyboard.press("Escape");
  const warning = dialog().getByText("You haven’t copied the link, and it won’t be shown again.");
  await warning.waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await ada.keyboard.press("Enter");
  await warning.waitFor({ state: "detached" });
  await dialog().getByRole("button", { name: "Done" }).click();
  await dialog().waitFor({ state: "detached" });
  await expectNotCached(ada, [token]);
});

test("makes a user an operator, who sees the pages, and keeps one operator", async () => {
  await ada.getByRole("button", { name: "Manage Ada Lovelace" }).click();
  await ada.getByText("No other operator can sign in.").waitFor();
  await untilFocused(ada.getByRole("menu"));
  for (const name of ["Revoke the operator role", "Disable"]) {
    const item = ada.getByRole("menuitem", { name });
    expect(await item.isDisabled()).toBe(true);
    // The arrow keys reach the item, and screen readers read the reason.
    for (let count = 0; count < 5 && !(await item.and(ada.locator(":focus")).count()); count += 1) {
      await ada.keyboard.press("ArrowDown");
    }
    expect(await item.and(ada.locator(":focus")).ariaSnapshot()).toContain(name);
    const reasonId = await item.getAttribute("aria-describedby");
    expect(await ada.locator(`[id="${reasonId}"]`).textContent()).toContain("No other operator can sign in.");
    await ada.keyboard.press("Enter");
    expect(await dialog().count()).toBe(0);
  }
  await ada.keyboard.press("Escape");
  await manage("Make an operator", "Make an operator");
  await ada.getByText("“Grace Hopper” is now an operator.").waitFor();
  await other.goto(`${environment.baseUrl}/operator/users`);
  await other.getByText("2 users").waitFor();
  await manage("Revoke the operator role", "Revoke operator role");
  await ada.getByText("“Grace Hopper” is no longer an operator.").waitFor();
});

test("says how an action affects the operator’s own account, and leaves the operator pages after they revoke their own role", async () => {
  const userId = (await proceduresOf(other).session.current.query())?.user.id ?? "";
  await proceduresOf(ada).operator.grantRole.mutate({ userId });
  await other.reload();
  const own = other.getByRole("dialog");
  const choose = async (action: string) => {
    await other.getByRole("button", { name: "Manage Grace Hopper" }).click();
    await other.getByRole("menuitem", { name: action, exact: true }).click();
  };
  for (const [action, title, effect] of [
    ["Disable", "Disable your account?", "Another operator can enable your account again."],
    ["End all sessions", "End all of your sessions?", "all devices immediately, including this one."],
    ["Revoke the operator role", "Revoke your operator role?", "You can no longer manage this instance"],
  ] as const) {
    await choose(action);
    await own.getByRole("heading", { name: title }).waitFor();
    await own.getByText(effect).waitFor();
    if (action === "Revoke the operator role") break;
    await own.getByRole("button", { name: "Cancel" }).click();
    await own.waitFor({ state: "detached" });
  }
  const rejected: string[] = [];
  other.on("response", (response) => {
    if (response.status() >= 400) rejected.push(response.url());
  });
  await own.getByRole("button", { name: "Revoke operator role" }).click();
  await other.getByText("You are no longer an operator.").waitFor();
  await other.getByRole("heading", { name: "Quick start" }).waitFor();
  await other.locator("#content:focus").waitFor();
  expect(await other.getByRole("link", { name: "Users", exact: true }).count()).toBe(0);
  expect(rejected).toEqual([]);
});

test("shows what happened in the instance log, also of one user", async () => {
  await ada.getByRole("button", { name: "Manage Grace Hopper" }).click();
  await ada.getByRole("menuitem", { name: "Show in the instance log" }).click();
  await ada.getByRole("heading", { name: "Instance log" }).waitFor();
  for (const event of [
    "Operator role revoked",
    "Operator role granted",
    "User enabled",
    "User disabled",
    "Sessions ended",
  ]) {
    await log().getByText(event).first().waitFor();
  }
  await ada.getByRole("button", { name: "Show all events" }).click();
  await log().getByText("Registration changed").waitFor();
});

test("filters the instance log by event, person, target and day, in the URL", async () => {
  await ada.goto(`${environment.baseUrl}/operator/log`);
  await log().getByText("Registration changed").waitFor();
  await ada.getByRole("combobox", { name: "Event" }).click();
  await ada.getByRole("option", { name: "User disabled", exact: true }).click();
  await ada.getByText("1 event", { exact: true }).waitFor();
  await ada.getByRole("combobox", { name: "Actor" }).click();
  await ada.getByRole("option", { name: "Grace Hopper" }).waitFor();
  await ada.keyboard.press("ControlOrMeta+A");
  await ada.keyboard.type("lovelace");
  await ada.getByRole("option", { name: "Grace Hopper" }).waitFor({ state: "detached" });
  await ada.getByRole("option", { name: `Ada Lovelace (${visitor.email})` }).click();
  await ada.waitForURL("**/operator/log?action=user.disabled&actor=usr_*");
  await ada.getByRole("textbox", { name: "To", exact: true }).fill("2020-01-02");
  await ada.getByRole("heading", { name: "No event matches" }).waitFor();
  await ada.getByRole("textbox", { name: "To", exact: true }).fill("");
  await ada.getByRole("textbox", { name: "From", exact: true }).fill("2020-01-02");
  await log().getByText("User disabled").waitFor();
  await ada.reload();
  await log().getByText("User disabled").waitFor();
  expect(await log().getByRole("row").count()).toBe(2);
  expect(Object.fromEntries(new URL(ada.url()).searchParams)).toEqual({
    action: "user.disabled",
    actor: expect.stringMatching(/^usr_/),
    from: "2020-01-02",
  });
  await ada.getByLabel("Target").fill("grace");
  await ada.getByText("Enter the ID of a user or a workspace.").waitFor();
  await ada.goto(`${environment.baseUrl}/operator/workspaces`);
  await ada.getByRole("button", { name: "Manage Grace Hopper’s workspace" }).click();
  await ada.getByRole("menuitem", { name: "Show in the instance log" }).click();
  await ada.waitForURL("**/operator/log?target=ws_*");
  await log().getByText("Workspace created").waitFor();
  expect(await log().getByRole("row").count()).toBeGreaterThan(1);
  await ada.getByRole("button", { name: "Show all events" }).click();
  await log().getByText("Registration changed").waitFor();
  expect(new URL(ada.url()).search).toBe("");
});

test("has no accessibility problem in the light and the dark theme, also at 375 px", async () => {
  for (const width of [1280, 375]) {
    await ada.setViewportSize({ width, height: 800 });
    for (const [path, text] of [
      ["users", "2 users"],
      ["workspaces", "2 workspaces"],
      ["instance", "Reachable"],
      ["log", "Registration changed"],
    ] as const) {
      await ada.goto(`${environment.baseUrl}/operator/${path}`);
      await ada.getByText(text).first().waitFor();
      await expect
        .poll(() => ada.evaluate("document.documentElement.scrollWidth"))
        .toBeLessThanOrEqual(width);
      expect(await findProblemsInBothSchemes(ada)).toEqual([]);
    }
  }
  await ada.goto(`${environment.baseUrl}/operator/users`);
  await ada.getByRole("button", { name: "Manage Grace Hopper" }).click();
  const disable = ada.getByRole("menuitem", { name: "Disable", exact: true });
  await disable.hover();
  const hovered = "document.querySelector('[role=menuitem]:hover')";
  expect(await ada.evaluate(`getComputedStyle(${hovered}).color`)).toBe("rgb(179, 38, 30)");
  await disable.click();
  await dialog().getByRole("button", { name: "Disable" }).waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
});
