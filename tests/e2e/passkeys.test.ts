import { TOTP } from "otpauth";
import type { CDPSession, Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { expectNotCached } from "../support/query-caches.ts";
import { visitor } from "../support/visitor.ts";
import { closeWithoutCopying } from "./close-without-copying.ts";
import { prepareEnvironment } from "./environment.ts";
import { failCalls } from "./fail-calls.ts";
import { holdCall } from "./hold-call.ts";
import { loseResponse } from "./lose-response.ts";
import { stayDuringCall } from "./stay-during-call.ts";

// Ada uses a passkey, with Chromium's virtual authenticator. Each test continues where the previous one ended.

let page: Page;
let devtools: CDPSession;
let authenticatorId = "";
let baseUrl = "";
let recoveryCode = "";

const environment = prepareEnvironment(async (prepared) => {
  // Browsers offer no passkeys to an IP address, not even 127.0.0.1.
  baseUrl = prepared.baseUrl.replace("127.0.0.1", "localhost");
  ({ page } = await prepared.browser.open());
  const data = { name: visitor.name, email: visitor.email, password: visitor.password };
  const response = await page.context().request.post(`${baseUrl}/trpc/session.signUp`, { data });
  if (!response.ok()) throw new Error(await response.text());
  devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  ({ authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  }));
});

const logOf = () => page.getByRole("table", { name: "Security log" });

async function signOut(): Promise<void> {
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.goto(`${baseUrl}/sign-in?next=/account/security`);
}

/** Goes back to the profile, although a call or a question of the browser is pending. */
async function leave(): Promise<void> {
  await page.goBack();
  const question = page.getByRole("dialog", { name: "Leave this page?" });
  await question.getByRole("button", { name: "Leave page" }).click();
  await page.getByRole("heading", { name: "Profile", level: 1 }).waitFor();
}

test("explains at another address where passkeys are available", async () => {
  const { page: other } = await environment.browser.open();
  const data = { name: "Grace", email: "grace@example.com", password: visitor.password };
  await other.context().request.post(`${environment.baseUrl}/trpc/session.signUp`, { data });
  await other.goto(`${environment.baseUrl}/account/security`);
  await other.getByRole("link", { name: baseUrl }).waitFor();
  expect(await other.getByRole("button", { name: "Add a passkey" }).count()).toBe(0);
});

test("adds a passkey with the keyboard, and shows recovery codes", async () => {
  await page.goto(`${baseUrl}/account/security`);
  await page.getByRole("button", { name: "Add a passkey" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Add a passkey" });
  await dialog.getByLabel("Name").and(page.locator(":focus")).waitFor();
  await page.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await dialog.getByText("Enter a name.").waitFor();
  await page.keyboard.type("Work  laptop");
  await stayDuringCall(page, "factors.addPasskey", () => page.keyboard.press("Enter"));
  const codes = page.getByRole("dialog", { name: "Your recovery codes" });
  await expect.poll(() => codes.getByRole("listitem").count()).toBe(10);
  recoveryCode = (await codes.getByRole("listitem").first().textContent()) ?? "";
  await closeWithoutCopying(codes);
  await expectNotCached(page, [recoveryCode]);
  await page.getByRole("button", { name: "Remove the passkey Work laptop" }).waitFor();
  await page.getByText(/Added .*, not used yet\.$/).waitFor();
  await logOf().getByText("Added the passkey “Work laptop” and ended your other sessions").waitFor();
  const { credentials } = await devtools.send("WebAuthn.getCredentials", { authenticatorId });
  expect(credentials).toMatchObject([{ isResidentCredential: true, rpId: "localhost" }]);
});

test("a device has one passkey of an account", async () => {
  await page.getByRole("button", { name: "Add a passkey" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a passkey" });
  await dialog.getByLabel("Name").fill("Again");
  await page.keyboard.press("Enter");
  await dialog.getByText("This device already has a passkey of your account.").waitFor();
  await page.keyboard.press("Escape");
  const question = page.getByRole("dialog", { name: "Discard unsaved changes?" });
  await question.getByRole("button", { name: "Keep editing" }).click();
  await question.waitFor({ state: "detached" });
  expect(await dialog.getByLabel("Name").inputValue()).toBe("Again");
  await page.keyboard.press("Escape");
  await question.getByRole("button", { name: "Discard" }).click();
  await dialog.waitFor({ state: "detached" });
});

test("signs in with the passkey alone", async () => {
  await signOut();
  await page.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.getByRole("heading", { name: "Security", exact: true }).waitFor();
  await page.getByText(/Added .*, last used .*\.$/).waitFor();
  await logOf()
    .getByText(/^Signed in with Chrome \d+ on Linux and a passkey$/)
    .waitFor();
});

test("after the password, asks for the passkey", async () => {
  await signOut();
  await page.getByLabel("Email").fill(visitor.email);
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByLabel("Recovery code").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await page.getByRole("heading", { name: "Security", exact: true }).waitFor();
});

test("a sign-in without user verification is not possible", async () => {
  await signOut();
  await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.getByText("No passkey was used. Try again, or choose another way.").waitFor();
  await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });
  await page.getByLabel("Email").fill(visitor.email);
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByLabel("Recovery code").fill(recoveryCode);
  await page.keyboard.press("Enter");
  await page.getByText("9 unused codes.").waitFor();
});

test("at another URL, the second factor links to the URL where passkeys work", async () => {
  const { page: other } = await environment.browser.open();
  await other.goto(`${baseUrl.replace("localhost", "127.0.0.1")}/sign-in`);
  await other.getByLabel("Email").fill(visitor.email);
  await other.getByLabel("Password").fill(visitor.password);
  await other.getByRole("button", { name: "Sign in", exact: true }).click();
  await other.getByLabel("Recovery code").waitFor();
  const link = other.getByRole("link", { name: baseUrl, exact: true });
  expect(await link.getAttribute("href")).toBe(`${baseUrl}/sign-in`);
  expect(await findProblemsInBothSchemes(other)).toEqual([]);
  await other.context().close();
});

test("renames the passkey", async () => {
  await page.getByRole("button", { name: "Rename the passkey Work laptop" }).click();
  const dialog = page.getByRole("dialog", { name: "Rename the passkey" });
  await dialog.getByLabel("Name").and(page.locator(":focus")).waitFor();
  expect(await dialog.getByLabel("Name").inputValue()).toBe("Work laptop");
  await dialog.getByLabel("Name").fill("Old laptop");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Rename the passkey Old laptop" }).waitFor();
});

test("adds an authenticator app to the passkey, which keeps the recovery codes", async () => {
  await page.getByRole("button", { name: "Set up an authenticator app" }).click();
  const dialog = page.getByRole("dialog", { name: "Set up an authenticator app" });
  const secret = ((await dialog.locator("code").textContent()) ?? "").replaceAll(" ", "");
  await dialog.getByRole("textbox", { name: "Code" }).fill(new TOTP({ secret }).generate());
  await page.keyboard.press("Enter");
  await page.getByText("The authenticator app was set up.").waitFor();
  await page.getByText("9 unused codes.").waitFor();
  // The button that opened the dialog no longer exists.
  await page.locator("#content:focus").waitFor();
});

test("leaving the page while the browser asks for a passkey adds none", async () => {
  await devtools.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled: false });
  await page.goto(`${baseUrl}/account/profile`);
  await page.getByRole("link", { name: "Security", exact: true }).click();
  await page.evaluate(`{
    const { create } = navigator.credentials;
    navigator.credentials.create = (options) => {
      const created = create.call(navigator.credentials, options);
      window.ceremony = created.then(() => "done", ({ name }) => name);
      return created;
    };
  }`);
  await page.getByRole("button", { name: "Add a passkey" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a passkey" });
  await dialog.getByLabel("Name").fill("Phone");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.evaluate("Boolean(window.ceremony)")).toBe(true);
  await leave();
  expect(await page.evaluate("window.ceremony")).toBe("AbortError");
  await devtools.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled: true });
  await page.getByRole("link", { name: "Security", exact: true }).click();
  await page.getByRole("button", { name: "Remove the passkey Old laptop" }).waitFor();
  expect(await page.getByRole("button", { name: "Remove the passkey Phone" }).count()).toBe(0);
});

test("leaving the page before the browser asks for a passkey adds none", async () => {
  await page.evaluate("delete window.ceremony");
  await page.getByRole("link", { name: "Profile", exact: true }).click();
  await page.getByRole("link", { name: "Security", exact: true }).click();
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByRole("dialog", { name: "Add a passkey" }).getByLabel("Name").fill("Phone");
  const started = await holdCall(page, "factors.startPasskey");
  await page.keyboard.press("Enter");
  await started.isSent;
  await leave();
  const isAnswered = page.waitForResponse(/factors\.startPasskey/);
  started.release();
  await isAnswered;
  await page.getByRole("link", { name: "Security", exact: true }).click();
  await page.getByRole("button", { name: "Remove the passkey Old laptop" }).waitFor();
  expect(await page.evaluate("Boolean(window.ceremony)")).toBe(false);
});

test("a sensitive change is confirmed with the passkey, and repeated", async () => {
  await environment.change(
    "update sessions set created_at = created_at - interval '1 hour', authenticated_at = null",
  );
  await page.getByRole("button", { name: "Remove the passkey Old laptop" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove this passkey?" });
  await dialog.getByRole("button", { name: "Remove" }).click();
  const question = page.getByRole("dialog", { name: "Confirm that it’s you" });
  await question.getByRole("button", { name: "Use a passkey instead" }).waitFor();
  await page.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  // The dialog closes even if the list can't be loaded again.
  await failCalls(page, "factors.get");
  await question.getByRole("button", { name: "Use a passkey instead" }).click();
  await page.getByText("The passkey was removed.").waitFor();
  await dialog.waitFor({ state: "detached" });
  await page.unrouteAll();
  await page.reload();
  await page.getByRole("button", { name: "Add a passkey" }).waitFor();
  expect(await page.getByRole("button", { name: /^Remove the passkey/ }).count()).toBe(0);
  await page.setViewportSize({ width: 375, height: 812 });
  await expect.poll(() => page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
});

test("after a lost response, says that the passkey may have been added, and lists it", async () => {
  await page.getByRole("button", { name: "Add a passkey" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a passkey" });
  await dialog.getByLabel("Name").fill("New laptop");
  await loseResponse(page, "factors.addPasskey");
  await page.keyboard.press("Enter");
  await dialog.getByRole("alert").filter({ hasText: "The passkey may have been added." }).waitFor();
  await page.getByRole("button", { name: "Remove the passkey New laptop", includeHidden: true }).waitFor();
});
