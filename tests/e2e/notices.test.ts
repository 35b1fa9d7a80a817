import type { Page } from "playwright-core";
import { afterEach, beforeAll, expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { enter, visitor } from "../support/visitor.ts";
import { getWorkspace } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { failCalls } from "./fail-calls.ts";

// The bell, the notices of a user whose role the `latchkey` command changes, and their settings.

const environment = prepareEnvironment();

let page: Page;
let complaints: readonly string[];
let workspaceId: string;

beforeAll(async () => {
  ({ page, complaints } = await environment.browser.open());
  await enter(page, environment.baseUrl);
  ({ id: workspaceId } = await getWorkspace(page));
  const grace = ["user", "create", "--email", "grace@example.com", "--name", "Grace", "--password-stdin"];
  await environment.command(grace, visitor.password);
  const member = ["member", "add", "--workspace", workspaceId, "--user", "grace@example.com"];
  await environment.command([...member, "--role", "owner"]);
});

afterEach(() => {
  // Chromium reports the response that asks for the password, and the call that a test lets fail.
  const isExpected = (complaint: string) =>
    (complaint.includes("403 (Forbidden)") && complaint.includes("changeSetting")) ||
    (complaint.includes("500 (") && complaint.includes("markRead"));
  expect(complaints.filter((complaint) => !isExpected(complaint))).toEqual([]);
});

const changeRole = (role: string) =>
  environment.command([
    "member",
    "role",
    "--workspace",
    workspaceId,
    "--user",
    visitor.email,
    "--role",
    role,
  ]);

const bell = (name: string) => page.getByRole("link", { name, exact: true });
const focused = () => page.locator(":focus");
const notices = () => page.getByRole("list", { name: "Notices" }).getByRole("listitem");

test("without notices, the page explains what they are for", async () => {
  await page.goto(environment.baseUrl);
  await bell("Notices").click();
  await page.getByRole("heading", { name: "No notices yet" }).waitFor();
});

test("the bell counts unread notices, and they are read one by one and all together", async () => {
  await changeRole("admin");
  await changeRole("member");
  await changeRole("admin");
  await page.reload();
  await bell("Notices, 3 unread notices").waitFor();
  await expect.poll(() => notices().count()).toBe(3);
  await notices().first().getByText("changed from member to admin").waitFor();
  await notices().first().getByRole("button").press("Enter");
  await bell("Notices, 2 unread notices").waitFor();
  // The buttons are removed, so the focus moves to what remains.
  await notices().first().getByRole("heading").and(focused()).waitFor();
  await page.getByRole("button", { name: "Unread", exact: true }).click();
  await expect.poll(() => notices().count()).toBe(2);
  expect(page.url()).toContain("show=unread");
  await notices().first().getByRole("button").press("Enter");
  await expect.poll(() => notices().count()).toBe(1);
  await notices().first().getByRole("heading").and(focused()).waitFor();
  const failure = page.getByText("Couldn’t mark it as read.");
  await failCalls(page, "notices.markRead");
  await notices().first().getByRole("button").press("Enter");
  await failure.waitFor();
  await page.unrouteAll();
  await page.getByRole("button", { name: "Mark all as read" }).press("Enter");
  await bell("Notices").waitFor();
  await page.getByRole("heading", { name: "No unread notices" }).waitFor();
  await page.getByRole("heading", { name: "Notices", level: 1 }).and(focused()).waitFor();
  expect(await failure.count()).toBe(0);
  await page.getByRole("button", { name: "Show all notices" }).press("Enter");
  await expect.poll(() => notices().count()).toBe(3);
  await page.getByRole("heading", { name: "Notices", level: 1 }).and(focused()).waitFor();
});

test("a notice links to its workspace", async () => {
  await notices().first().getByRole("link", { name: "Open the workspace" }).click();
  await page.waitForURL(/\/w\/[^/]+$/);
});

test("the account menu and the command palette lead to the notices", async () => {
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menuitem", { name: "Notices" }).click();
  await page.waitForURL(/\/account\/notices$/);
  await page.goto(environment.baseUrl);
  await page.getByRole("button", { name: "Account menu" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.locator("input:focus").waitFor();
  await page.keyboard.type("notices");
  await page.getByRole("option", { name: "Notices", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/account\/notices$/);
});

test("a kind is turned off by keyboard, and no notice appears", async () => {
  await bell("Notices").focus();
  await page.keyboard.press("Enter");
  const setting = page.getByRole("checkbox", { name: "Your role changed, in the app" });
  const released = Promise.withResolvers<void>();
  let calls = 0;
  await page.route("**/trpc/notices.changeSetting*", async (route) => {
    calls += 1;
    await released.promise;
    await route.continue();
  });
  await setting.focus();
  await page.keyboard.press("Space");
  await setting.and(page.locator("[aria-disabled=true]")).and(focused()).waitFor();
  // A change in flight doesn't take the focus, and another one is ignored.
  await page.keyboard.press("Space");
  released.resolve();
  await expect.poll(() => setting.isChecked()).toBe(false);
  await setting.and(page.locator("[aria-disabled=false]")).and(focused()).waitFor();
  expect(calls).toBe(1);
  await page.unrouteAll();
  // This instance doesn't send email.
  expect(await page.getByRole("columnheader", { name: "By email" }).count()).toBe(0);
  await changeRole("member");
  await page.reload();
  await setting.waitFor();
  expect(await setting.isChecked()).toBe(false);
  await expect.poll(() => notices().count()).toBe(3);
});

test("turning off a security notice asks for the password, and the security log says so", async () => {
  await environment.change("update sessions set authenticated_at = now() - interval '16 minutes'");
  const setting = page.getByRole("checkbox", { name: "Sign-in from a new device, in the app" });
  const question = page.getByRole("dialog", { name: "Confirm your password" });
  await setting.focus();
  await page.keyboard.press("Space");
  await question.getByLabel("Password").and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("Couldn’t change the setting. Confirm that it’s you to continue.").waitFor();
  await expect.poll(() => setting.isChecked()).toBe(true);

  await expect.poll(() => setting.isEnabled()).toBe(true);
  await setting.click();
  await question.getByLabel("Password").fill(visitor.password);
  await page.keyboard.press("Enter");
  await question.waitFor({ state: "detached" });
  await expect.poll(() => setting.isChecked()).toBe(false);
  await page.goto(`${environment.baseUrl}/account/security`);
  await page.getByText("Turned the notice “new device” off in the app").waitFor();
  await page.goBack();
  await setting.waitFor();
});

test("shows times and counts in the reader's locale and time zone", async () => {
  const key = { keyId: "00000000-0000-0000-0000-000000000001", keyName: "CI" };
  const quota = { quota: "keysPerUser", count: 1_204, limit: 1_300, workspaceId: null, workspaceName: null };
  for (const [kind, facts] of Object.entries({
    "key-expires-in-7-days": { ...key, expiresAt: "2026-03-14T23:30:00.000Z" },
    "quota-nearly-reached": quota,
  })) {
    await environment.change(
      `insert into notices (id, user_id, kind, subject, facts, is_shown, is_email_due)
       select gen_random_uuid(), id, '${kind}', 'locale', '${JSON.stringify(facts)}', true, false
       from users where email = '${visitor.email}'`,
    );
  }
  const storageState = await page.context().storageState();
  const german = await environment.browser.open({ locale: "de-DE", storageState });
  await german.page.goto(`${environment.baseUrl}/account/notices`);
  await german.page.getByText("rejected from 15.03.2026, 00:30:00 MEZ. To keep using it").waitFor();
  await german.page.getByText("You have 1.204 of at most 1.300 API keys.").waitFor();
});

test("marks all notices as read, also if the unread ones are older than those that are listed", async () => {
  await environment.change(
    `insert into notices (id, user_id, kind, subject, facts, is_shown, is_email_due, read_at)
     select gen_random_uuid(), users.id, 'quota-nearly-reached', 'read ' || n, facts, true, false, now()
     from users, notices, generate_series(1, 25) n
     where users.email = '${visitor.email}' and subject = 'locale' and notices.kind = 'quota-nearly-reached'`,
  );
  await page.goto(`${environment.baseUrl}/account/notices`);
  await expect.poll(() => notices().count()).toBe(25);
  expect(await notices().getByText("Unread").count()).toBe(0);
  await page.getByRole("button", { name: "Mark all as read" }).press("Enter");
  await bell("Notices").waitFor();
  await page.getByRole("button", { name: "Mark all as read" }).waitFor({ state: "detached" });
});

test("the list shows a new notice when the bell counts it", async () => {
  // In a context of its own, because all pages of a context have the same clock.
  const storageState = await page.context().storageState();
  const { page: open } = await environment.browser.open({ storageState });
  await open.clock.install();
  await open.goto(`${environment.baseUrl}/account/notices?show=unread`);
  await open.getByRole("heading", { name: "No unread notices" }).waitFor();
  await environment.change(
    `insert into notices (id, user_id, kind, subject, facts, is_shown, is_email_due)
     select gen_random_uuid(), users.id, 'quota-nearly-reached', 'new', facts, true, false
     from users, notices
     where users.email = '${visitor.email}' and subject = 'locale' and notices.kind = 'quota-nearly-reached'`,
  );
  await open.clock.fastForward(60_000);
  await open.getByRole("link", { name: "Notices, 1 unread notice" }).waitFor();
  const shown = open.getByRole("list", { name: "Notices" }).getByRole("listitem");
  await expect.poll(() => shown.count()).toBe(1);
  await open.getByRole("button", { name: "Mark all as read" }).press("Enter");
  await open.getByRole("heading", { name: "No unread notices" }).waitFor();
});

test("is accessible in both color schemes, and fits a phone", async () => {
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.setViewportSize({ width: 375, height: 700 });
  const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
  expect(overflow).toBe(0);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});
