import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { expectNotCached } from "../support/query-caches.ts";
import { signUp, visitor } from "../support/visitor.ts";
import { proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { holdCall } from "./hold-call.ts";
import { routeOnce } from "./route-once.ts";

// Ada changes her own account on one device, and is signed in on another. Each test continues where the previous one
// ended.

let here: Page;
let there: Page;
const email = visitor.email;
const newPassword = "seven bridges over the river";
const lastPassword = "four quiet foxes on ice";

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page: here } = await browser.open());
  await signUp(here, baseUrl);
  ({ page: there } = await browser.open());
  await signIn(there, baseUrl);
});

/** Signs in, and opens the page on security. */
async function signIn(page: Page, baseUrl: string, password: string = visitor.password): Promise<void> {
  await page.goto(`${baseUrl}/sign-in?next=/account/security`);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Security", exact: true }).waitFor();
}

const sessionsOf = (page: Page) => page.getByRole("table", { name: "Sessions" }).getByRole("rowheader");
const logOf = (page: Page) => page.getByRole("table", { name: "Security log" });

test("changes the name, which the header and members see immediately", async () => {
  await here.goto(`${environment.baseUrl}/account/profile`);
  // Without email, nobody can verify an email address.
  await here.getByText("The operator of this instance can change it with latchkey user email.").waitFor();
  await here.waitForLoadState("networkidle");
  expect(await here.getByText("Unverified").count()).toBe(0);
  await here.getByLabel("Name").fill("  ");
  await here.getByRole("button", { name: "Save" }).click();
  await here.getByText("Enter your name.").waitFor();
  await here.getByLabel("Name").fill("Ada");
  const rename = await holdCall(here, "account.rename");
  await here.getByRole("button", { name: "Save" }).click();
  await rename.isSent;
  // What is typed while the name is being saved stays.
  await here.getByLabel("Name").fill(" Ada   King ");
  rename.release();
  await here.getByText("Your name was changed.").waitFor();
  expect(await here.getByLabel("Name").inputValue()).toBe(" Ada   King ");
  await here.getByRole("button", { name: "Save" }).click();
  await expect.poll(() => here.getByLabel("Name").inputValue()).toBe("Ada King");
  await here.getByRole("button", { name: "Account menu" }).click();
  await here.getByRole("menu").getByText("Ada King").waitFor();
  await here.keyboard.press("Escape");
});

test("lists the sessions, and ends another one after a confirmation", async () => {
  await here.goto(`${environment.baseUrl}/account/security`);
  await expect.poll(() => sessionsOf(here).count()).toBe(2);
  expect(await sessionsOf(here).first().textContent()).toMatch(/^Chrome \d+ on LinuxThis session$/);
  await here.getByRole("button", { name: /^End the session of Chrome/ }).click();
  const dialog = here.getByRole("dialog", { name: "End this session?" });
  await dialog.getByText("127.0.0.1").waitFor();
  await dialog.getByRole("button", { name: "End session" }).click();
  await here.getByText("The session has ended.").waitFor();
  await expect.poll(() => sessionsOf(here).count()).toBe(1);
  await here.locator("main:focus").waitFor();
  expect(await here.getByRole("button", { name: "End all other sessions" }).count()).toBe(0);
  await logOf(here).getByText("Ended 1 session").waitFor();
  await logOf(here).getByText("Changed your name from “Ada” to “Ada King”").waitFor();

  await there.reload();
  await there.getByRole("heading", { name: "Sign in" }).waitFor();
});

test("changes the password, which ends the other sessions", async () => {
  await signIn(there, environment.baseUrl);
  await here.goto(`${environment.baseUrl}/account/profile`);
  const change = async (current: string, next: string) => {
    await here.getByLabel("Current password").fill(current);
    await here.getByLabel("New password").fill(next);
    await here.getByRole("button", { name: "Change password" }).click();
  };
  await change("not my password", newPassword);
  await here.getByText("This is not your current password.").waitFor();
  await here.getByLabel("Current password").and(here.locator(":focus")).waitFor();
  await change(visitor.password, "password1234");
  await here.getByText("This password is too common.").waitFor();
  await change(visitor.password, newPassword);
  await here.getByText("Your password was changed. Your other sessions have ended.").waitFor();
  expect(await here.getByLabel("Current password").inputValue()).toBe("");
  await expectNotCached(here, [visitor.password, newPassword]);

  await there.reload();
  await there.getByLabel("Email").fill(email);
  await there.getByLabel("Password").fill(visitor.password);
  await there.getByRole("button", { name: "Sign in" }).click();
  await there.getByText("The email address or password is wrong.").waitFor();
  await there.getByLabel("Password").fill(newPassword);
  await there.getByRole("button", { name: "Sign in" }).click();
  await there.getByRole("heading", { name: "Security", exact: true }).waitFor();
});

test("ends all other sessions together, and shows failed sign-ins in the log", async () => {
  await here.goto(`${environment.baseUrl}/account/security`);
  await here.getByRole("button", { name: "End all other sessions" }).click();
  const dialog = here.getByRole("dialog", { name: "End all other sessions?" });
  await dialog.getByText("1 other device is signed out immediately.").waitFor();
  await dialog.getByRole("button", { name: "End sessions" }).click();
  await here.getByText("1 other session has ended.").waitFor();
  await logOf(here)
    .getByText(/^Failed sign-in with Chrome/)
    .waitFor();
  await logOf(here).getByText("Changed your password and ended your other sessions").waitFor();
  await there.reload();
  await there.getByRole("heading", { name: "Sign in" }).waitFor();
});

const missingCode = {
  status: 400,
  json: [
    {
      error: {
        code: -32600,
        message: "The request is not valid",
        data: {
          code: "BAD_REQUEST",
          httpStatus: 400,
          issues: [{ path: "code", code: "required", message: "Enter a code from your authenticator app." }],
        },
      },
    },
  ],
};

test("asks for the password before a sensitive change, 15 minutes after it was entered", async () => {
  await environment.change("update sessions set authenticated_at = now() - interval '16 minutes'");
  await here.goto(`${environment.baseUrl}/account/api-keys`);
  await here.getByRole("button", { name: "New API key" }).click();
  const form = here.getByRole("dialog", { name: "New API key" });
  await form.getByLabel("Name").fill("Late key");
  await form.getByRole("button", { name: "Create key" }).click();
  const question = here.getByRole("dialog", { name: "Confirm your password" });
  await question.getByLabel("Password").and(here.locator(":focus")).waitFor();
  await here.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(here)).toEqual([]);
  await here.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  await form.getByText("Confirm that it’s you to continue.").waitFor();
  expect(await form.getByLabel("Name").inputValue()).toBe("Late key");

  await form.getByRole("button", { name: "Create key" }).click();
  await question.getByLabel("Password").fill("not my password");
  await here.keyboard.press("Enter");
  await question.getByText("This is not your current password.").waitFor();
  await question.getByLabel("Password").fill(newPassword);
  // The factors may not have loaded, so that only the API knows that the account has one.
  await routeOnce(here, "**/trpc/account.confirmPassword*", (route) => route.fulfill(missingCode));
  await here.keyboard.press("Enter");
  const confirmation = here.getByRole("dialog", { name: "Confirm that it’s you" });
  await confirmation.getByText("Enter a code from your authenticator app.").waitFor();
  await confirmation.getByLabel("Code").and(here.locator(":focus")).fill("123456");
  await here.keyboard.press("Enter");
  await confirmation.waitFor({ state: "detached" });
  await here.getByText("lk_", { exact: false }).first().waitFor();
  await expectNotCached(here, [newPassword]);
  expect((await proceduresOf(here).apiKeys.list.query({})).total).toBe(1);
});

test("asks for the password again after the session ended while it was asked for", async () => {
  const form = here.getByRole("dialog", { name: "New API key" });
  const question = here.getByRole("dialog", { name: "Confirm your password" });
  const create = async () => {
    await environment.change("update sessions set authenticated_at = now() - interval '16 minutes'");
    await here.getByRole("button", { name: "New API key" }).click();
    await form.getByLabel("Name").fill("Second key");
    await form.getByRole("button", { name: "Create key" }).click();
    await question.getByLabel("Password").and(here.locator(":focus")).waitFor();
  };
  await here.goto(`${environment.baseUrl}/account/api-keys`);
  await create();
  await here.context().clearCookies();
  await here.getByText("Your session has ended. Sign in to continue.").waitFor();
  await here.getByLabel("Email").fill(email);
  await here.getByLabel("Password").fill(newPassword);
  await here.getByRole("button", { name: "Sign in" }).click();
  await here.getByRole("rowheader", { name: "Late key" }).waitFor();
  await create();
  await here.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  await form.getByRole("button", { name: "Cancel" }).click();
});

test("chooses a new password with a link from the operator, once", async () => {
  const { url } = (await environment.command(["user", "reset-link", email])) as { readonly url: string };
  const link = `${environment.baseUrl}/reset-password#${url.split("#")[1]}`;
  const { page } = await environment.browser.open();
  const sent: string[] = [];
  page.on("request", (request) => sent.push(request.url()));
  await page.goto(link);
  await page.getByText(`For the account ${email}.`).waitFor();
  await page.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByLabel("New password").fill("short");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Use at least 12 characters.").waitFor();
  await page.getByLabel("New password").fill("password1234");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("This password is too common.").waitFor();
  await page.getByLabel("New password").fill(lastPassword);
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("heading", { name: "Your password was changed" }).waitFor();
  await page.locator("main:focus").waitFor();
  await expectNotCached(page, [lastPassword]);
  // The token reaches no log that contains URLs.
  expect(sent.filter((address) => address.includes(url.split("#")[1] ?? ""))).toEqual([]);
  await page.getByRole("link", { name: "Sign in" }).click();
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(lastPassword);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Quick start" }).waitFor();
  await here.reload();
  await here.getByRole("heading", { name: "Sign in" }).waitFor();

  await page.goto(link);
  await page.getByText("This link has expired or was already used.").waitFor();
  await page.goto(`${environment.baseUrl}/reset-password`);
  await page.getByText("The link is incomplete.").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("signs out everywhere, on this device too", async () => {
  for (const page of [here, there]) await signIn(page, environment.baseUrl, lastPassword);
  const settings = { "latchkey.exact-times": "true", "latchkey.navigation-folded": "true" };
  await here.evaluate(`Object.assign(localStorage, ${JSON.stringify(settings)})`);
  await here.getByRole("button", { name: "Sign out everywhere" }).click();
  const dialog = here.getByRole("dialog", { name: "Sign out everywhere?" });
  await dialog.getByText(/^All devices, including this one, are signed out immediately/).waitFor();
  await here.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(here)).toEqual([]);
  await dialog.getByRole("button", { name: "Sign out everywhere" }).click();
  await here.waitForURL(/\/sign-in$/);
  await here.getByRole("heading", { name: "Sign in" }).waitFor();
  expect(await here.evaluate("({ ...localStorage })")).toEqual(settings);
  await there.reload();
  await there.getByRole("heading", { name: "Sign in" }).waitFor();
  await signIn(here, environment.baseUrl, lastPassword);
  await expect.poll(() => sessionsOf(here).count()).toBe(1);
  await logOf(here)
    .getByText(/^Signed out everywhere, which ended \d sessions$/)
    .waitFor();
});
