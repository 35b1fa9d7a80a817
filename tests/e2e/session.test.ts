import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { signIn as callSignIn } from "../support/account.ts";
import { startProduct } from "../support/prepared-instance.ts";
import { createKey, enter, signUp, visitor } from "../support/visitor.ts";
import { proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { returnToTab } from "./return-to-tab.ts";

const environment = prepareEnvironment();

async function signIn(page: Page, email: string): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("leads to sign-in when a session ends while a page is open, and back to the same page", async () => {
  const { page } = await environment.browser.reopen();
  await enter(page, environment.baseUrl, "ended@example.com");
  await createKey(page, "Backup");
  await page.goto(`${environment.baseUrl}/account/api-keys?q=back`);
  await page.getByRole("rowheader", { name: "Backup" }).waitFor();
  await page.context().clearCookies();
  await page.getByText("Your session has ended. Sign in to continue.").waitFor();
  await signIn(page, "ended@example.com");
  await page.getByRole("rowheader", { name: "Backup" }).waitFor();
  expect(page.url()).toBe(`${environment.baseUrl}/account/api-keys?q=back`);
});

test("shows no data of the previous user to the next user who signs in", async () => {
  const { page } = await environment.browser.reopen();
  await enter(page, environment.baseUrl, "first@example.com");
  await createKey(page, "Secret project");
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("rowheader", { name: "Secret project" }).waitFor();
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Create an account" }).click();
  await page.route("**/trpc/apiKeys.list*", (route) => route.abort());
  await page.getByLabel("Name").fill("Second");
  await page.getByLabel("Email").fill("second@example.com");
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("link", { name: "Your API keys" }).click();
  await page.getByRole("heading", { name: "Your API keys", exact: true }).waitFor();
  expect(await page.content()).not.toContain("Secret project");
});

test("a tab follows the session when it gets the focus: another tab may have changed it", async () => {
  const { page } = await environment.browser.open();
  await enter(page, environment.baseUrl, "one@example.com");
  await createKey(page, "Key of one");
  const other = await page.context().newPage();
  await other.goto(`${environment.baseUrl}/favicon.svg`);
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("rowheader", { name: "Key of one" }).waitFor();
  await proceduresOf(other).workspaces.create.mutate({ name: "Globex" });
  await page.getByRole("button", { name: /^Workspace: / }).click();
  await page.getByRole("menuitem").first().waitFor();
  expect(await page.getByRole("menuitem", { name: "Globex" }).count()).toBe(0);
  await returnToTab(page, () => page.getByRole("menuitem", { name: "Globex" }).isVisible());
  await page.keyboard.press("Escape");

  await enter(other, environment.baseUrl, "two@example.com");
  await createKey(other, "Key of two");
  await returnToTab(page, () => page.getByRole("rowheader", { name: "Key of two" }).isVisible());
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByText("two@example.com").waitFor();
  expect(await page.content()).not.toContain("Key of one");

  await proceduresOf(other).session.signOut.mutate();
  await returnToTab(page, () => page.getByText("Your session has ended.").isVisible());
});

test("signs out, and leaves only the settings of the browser in its storage", async () => {
  const { page } = await environment.browser.reopen();
  await signUp(page, environment.baseUrl, "leaving@example.com");
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  const settings = { "latchkey.exact-times": "true", "latchkey.navigation-folded": "true" };
  await page.evaluate(`Object.assign(localStorage, ${JSON.stringify(settings)})`);
  await page.evaluate(`localStorage.setItem("of.the.person", "yes"); sessionStorage.setItem("too", "yes")`);
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  expect(await page.evaluate("({ ...localStorage })")).toEqual({
    "latchkey.appearance": "dark",
    ...settings,
  });
  expect(await page.evaluate("document.documentElement.dataset.mantineColorScheme")).toBe("dark");
  expect(await page.evaluate("sessionStorage.getItem('too')")).toBeNull();
});

test.each(["https://example.com/", "//example.com", "/\\example.com", "/%09/example.com"])(
  "opens the overview instead of next=%s",
  async (next) => {
    const { page } = await environment.browser.reopen();
    const email = `${Buffer.from(next).toString("hex")}@example.com`;
    await enter(page, environment.baseUrl, email);
    await page.context().clearCookies();
    await page.goto(
      `${environment.baseUrl}/sign-in?next=${next.includes("%") ? next : encodeURIComponent(next)}`,
    );
    await signIn(page, email);
    await page.getByRole("heading", { name: "Quick start" }).waitFor();
    expect(new URL(page.url()).origin).toBe(environment.baseUrl);
  },
);

test("shows under its field that an email address already has an account", async () => {
  const { page } = await environment.browser.reopen();
  await enter(page, environment.baseUrl, "taken@example.com");
  await page.context().clearCookies();
  await page.goto(`${environment.baseUrl}/sign-up`);
  await page.getByLabel("Name").fill("Another");
  await page.getByLabel("Email").fill("taken@example.com");
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("This email address already has an account.").waitFor();
  await page.getByRole("textbox", { name: "Email" }).and(page.locator(":focus")).waitFor();
});

test("shows when to try again after too many wrong passwords; a known browser can continue", async () => {
  const { page } = await environment.browser.reopen();
  await signUp(page, environment.baseUrl, "guessed@example.com");
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  const wrong = { email: "guessed@example.com", password: "a wrong password" };
  for (let attempt = 0; attempt < 10; attempt += 1)
    expect((await callSignIn(environment.baseUrl, wrong)).status).toBe(401);
  const { page: elsewhere } = await environment.browser.open();
  await elsewhere.goto(`${environment.baseUrl}/sign-in`);
  await signIn(elsewhere, "guessed@example.com");
  const alert = elsewhere.getByRole("alert");
  await alert.getByText(/^Too many attempts\. Try again after \d+:\d\d:\d\d/).waitFor();
  expect(await alert.evaluate((node) => node.contains(node.ownerDocument.activeElement))).toBe(true);

  await signIn(page, "guessed@example.com");
  await page.getByRole("heading", { name: "Quick start" }).waitFor();
});

test("shows under the password that it is too easy to guess", async () => {
  const { page } = await environment.browser.reopen();
  await page.goto(`${environment.baseUrl}/sign-up`);
  await page.getByLabel("Name").fill("Grace Hopper");
  await page.getByLabel("Email").fill("guessable@example.com");
  for (const [password, message] of [
    ["password1234", "This password is too common."],
    ["Grace Hopper", "Don't use your name or email address as the password."],
  ] as const) {
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByText(message).waitFor();
    await page.getByRole("textbox", { name: "Password" }).and(page.locator(":focus")).waitFor();
  }
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: "Quick start" }).waitFor();
});

test("shows what failed, with the request ID, and tries again", async () => {
  const { page } = await environment.browser.reopen();
  await enter(page, environment.baseUrl, "failing@example.com");
  const failure = {
    error: {
      code: -32603,
      message: "Internal server error",
      data: { code: "INTERNAL_SERVER_ERROR", httpStatus: 500, requestId: "req-1234" },
    },
  };
  await page.route("**/trpc/apiKeys.list*", (route) => route.fulfill({ status: 500, json: [failure] }));
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  const panel = page.getByRole("alert");
  await panel.getByText("Couldn’t load your API keys").waitFor();
  await panel.getByText("req-1234").waitFor();
  await page.unroute("**/trpc/apiKeys.list*");
  await panel.getByRole("button", { name: "Try again" }).click();
  await page.getByText("No API keys yet").waitFor();
});

test("shows a message only while the browser is offline", async () => {
  const { page } = await environment.browser.reopen();
  await signUp(page, environment.baseUrl, "offline@example.com");
  await page.context().setOffline(true);
  await page.getByText("You’re offline.").waitFor();
  await page.context().setOffline(false);
  await page.getByText("You’re offline.").waitFor({ state: "detached" });
});

test("with closed registration, creates the operator's account, and then shows that sign-up is disabled", async () => {
  const closed = await startProduct({ REGISTRATION: "closed" });
  try {
    const { page } = await environment.browser.open();
    await page.goto(closed.baseUrl);
    await page.getByRole("heading", { name: "Create the operator’s account" }).waitFor();
    await page.getByText("Nobody else can sign up afterwards").waitFor();
    await signUp(page, closed.baseUrl);
    await page.getByRole("link", { name: "Instance health" }).waitFor();
    const { page: other } = await environment.browser.open();
    await other.goto(`${closed.baseUrl}/sign-up`);
    await other.getByRole("heading", { name: "Sign-up is disabled" }).waitFor();
    await other.getByText("Ask the operator of this instance for an account.").waitFor();
  } finally {
    await closed.stop();
  }
});
