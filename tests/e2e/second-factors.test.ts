import { TOTP } from "otpauth";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { expectNotCached } from "../support/query-caches.ts";
import { enter, signUp, visitor } from "../support/visitor.ts";
import { proceduresOf } from "./call.ts";
import { closeWithoutCopying } from "./close-without-copying.ts";
import { prepareEnvironment } from "./environment.ts";

// Ada protects her account with an authenticator app. Each test continues where the previous one ended.

let here: Page;
let secret = "";
let recoveryCodes: readonly string[] = [];
const phone = { viewport: { width: 375, height: 812 } };

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page: here } = await browser.open());
  await signUp(here, baseUrl);
});

const logOf = (page: Page) => page.getByRole("table", { name: "Security log" });

/** A code of the authenticator app. Forgets the last one, because tests use several within 30 seconds. */
async function createCode(): Promise<string> {
  await environment.change("update totp_factors set last_step = null");
  return new TOTP({ secret }).generate();
}

async function enterPassword(page: Page, next = "/account/security"): Promise<void> {
  await page.goto(`${environment.baseUrl}/sign-in?next=${next}`);
  await page.getByLabel("Email").fill(visitor.email);
  await page.getByLabel("Password").fill(visitor.password);
  await page.keyboard.press("Enter");
}

async function expectNoOverflow(page: Page): Promise<void> {
  expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
}

test("sets up an authenticator app with the keyboard, and shows recovery codes once", async () => {
  await here.goto(`${environment.baseUrl}/account/security`);
  await here.getByRole("button", { name: "Set up an authenticator app" }).focus();
  await here.keyboard.press("Enter");
  const dialog = here.getByRole("dialog", { name: "Set up an authenticator app" });
  await dialog.getByLabel("Code").and(here.locator(":focus")).waitFor();
  await dialog.getByRole("img", { name: "QR code of the secret" }).waitFor();
  secret = ((await dialog.locator("code").textContent()) ?? "").replaceAll(" ", "");
  expect(secret).toMatch(/^[A-Z2-7]{32}$/);
  await here.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(here)).toEqual([]);
  await here.keyboard.press("Enter");
  await dialog.getByText("Enter a code.").waitFor();
  await here.keyboard.type("000000");
  await here.keyboard.press("Enter");
  await dialog.getByText("This code is wrong, has expired, or was already used.").waitFor();
  await dialog
    .getByLabel("Code")
    .and(here.locator(":focus"))
    .fill(await createCode());
  await here.keyboard.press("Enter");

  const codes = here.getByRole("dialog", { name: "Your recovery codes" });
  await expect.poll(() => codes.getByRole("listitem").count()).toBe(10);
  recoveryCodes = await codes.getByRole("listitem").allTextContents();
  await here.getByText("The authenticator app was set up.").waitFor();
  expect(await findProblemsInBothSchemes(here)).toEqual([]);
  await codes.getByRole("button", { name: "Copy recovery codes" }).and(here.locator(":focus")).waitFor();
  await here.keyboard.press("Escape");
  const warning = codes.getByText("You haven’t copied the recovery codes, and they won’t be shown again.");
  await warning.waitFor();
  expect(await findProblemsInBothSchemes(here)).toEqual([]);
  await here.keyboard.press("Enter");
  await warning.waitFor({ state: "detached" });
  expect(await here.evaluate("navigator.clipboard.readText()")).toBe(recoveryCodes.join("\n"));
  await codes.getByRole("button", { name: "Done" }).click();
  await codes.waitFor({ state: "detached" });
  // The button that opened the dialog no longer exists.
  await here.locator("#content:focus").waitFor();
  await here.getByText("10 unused codes.").waitFor();
  await expectNotCached(here, [secret, ...recoveryCodes]);
  await logOf(here).getByText("Set up an authenticator app and ended your other sessions").waitFor();
  await here.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(here)).toEqual([]);
});

test("a sign-in asks for a code, on a phone too", async () => {
  const { page } = await environment.browser.open(phone);
  await enterPassword(page);
  await page.getByRole("heading", { name: "Confirm that it’s you" }).waitFor();
  await page.getByLabel("Code").and(page.locator(":focus")).waitFor();
  await expectNoOverflow(page);
  await expectNotCached(page, [visitor.password]);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "Start over" }).click();
  await page.getByLabel("Password").waitFor();
  await enterPassword(page);
  await page.getByLabel("Code").fill("000000");
  await page.keyboard.press("Enter");
  await page.getByText("This code is wrong, has expired, or was already used.").waitFor();
  await page.getByLabel("Code").and(page.locator(":focus")).waitFor();
  // The wrong code is selected, so the new one replaces it.
  await page.keyboard.insertText(await createCode());
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Security", exact: true }).waitFor();
  await page.getByText("10 unused codes.").waitFor();
  await expectNoOverflow(page);
  await page.getByText(/^Signed in with Chrome \d+ on Linux and a code$/).waitFor();
  await page.getByText(/^Wrong code after your password was confirmed/).waitFor();
});

test("a recovery code works once", async () => {
  const { page } = await environment.browser.open();
  const [code = ""] = recoveryCodes;
  await enterPassword(page);
  await page.getByLabel("Code").fill(code.toLowerCase());
  await page.keyboard.press("Enter");
  await page.getByText("9 unused codes.").waitFor();
  const { page: other } = await environment.browser.open();
  await enterPassword(other);
  await other.getByLabel("Code").fill(code);
  await other.keyboard.press("Enter");
  await other.getByText("This code is wrong, has expired, or was already used.").waitFor();
});

test("a sign-in that waited too long starts over", async () => {
  const { page } = await environment.browser.open();
  await enterPassword(page);
  await page.getByLabel("Code").fill(await createCode());
  await environment.change("update verifications set expires_at = clock_timestamp()");
  await page.keyboard.press("Enter");
  await page.getByText("Your sign-in has expired.").waitFor();
  await page.getByRole("button", { name: "Start over" }).click();
  await page.getByLabel("Password").waitFor();
});

test("a sensitive change asks for the password and a code, and repeats the change", async () => {
  await environment.change(
    "update sessions set created_at = created_at - interval '1 hour', authenticated_at = null",
  );
  await here.goto(`${environment.baseUrl}/account/security`);
  await here.getByRole("button", { name: "Create new codes" }).click();
  await here
    .getByRole("dialog", { name: "Create new recovery codes?" })
    .getByRole("button", { name: "Create new codes" })
    .click();
  const question = here.getByRole("dialog", { name: "Confirm that it’s you" });
  await question.getByLabel("Password").and(here.locator(":focus")).fill(visitor.password);
  await here.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(here)).toEqual([]);
  await here.keyboard.press("Enter");
  await question.getByText("Enter a code.").waitFor();
  await question.getByLabel("Code").fill(await createCode());
  await here.keyboard.press("Enter");
  const codes = here.getByRole("dialog", { name: "Your recovery codes" });
  await expect.poll(() => codes.getByRole("listitem").count()).toBe(10);
  const next = await codes.getByRole("listitem").allTextContents();
  expect(next.filter((code) => recoveryCodes.includes(code))).toEqual([]);
  recoveryCodes = next;
  await closeWithoutCopying(codes);
  await here.getByText("10 unused codes.").waitFor();
  await expectNotCached(here, [visitor.password, ...recoveryCodes]);
});

test("an invited person with a second factor joins after the code", async () => {
  const { page: owner } = await environment.browser.open();
  await enter(owner, environment.baseUrl, "grace@example.com");
  const { workspaces } = (await proceduresOf(owner).session.current.query()) ?? { workspaces: [] };
  const workspaceId = workspaces[0]?.id ?? "";
  const { url = "" } = await proceduresOf(owner).invitations.create.mutate({
    workspaceId,
    email: visitor.email,
    role: "viewer",
  });
  const { page } = await environment.browser.open();
  await page.goto(`${environment.baseUrl}/invitation#${url.split("#")[1]}`);
  await page.getByRole("button", { name: "Sign in with an existing account" }).click();
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Sign in and join" }).click();
  await page.getByLabel("Code").fill(await createCode());
  await expectNotCached(page, [visitor.password]);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL(`${environment.baseUrl}/w/${workspaces[0]?.slug}`);
});

test("the operator resets the factors of a user who has lost them", async () => {
  const user = await environment.command(["user", "reset-factors", visitor.email]);
  expect(user).toMatchObject({ email: visitor.email });
  await here.reload();
  await here.getByRole("heading", { name: "Sign in" }).waitFor();
  await enterPassword(here);
  await logOf(here).getByText("Removed all your second factors and ended all sessions").waitFor();
  await here.getByText("A code from an app on your phone").waitFor();
});

test("removes the authenticator app after a confirmation", async () => {
  await here.getByRole("button", { name: "Set up an authenticator app" }).click();
  const setup = here.getByRole("dialog", { name: "Set up an authenticator app" });
  secret = ((await setup.locator("code").textContent()) ?? "").replaceAll(" ", "");
  await setup.getByRole("textbox", { name: "Code" }).fill(await createCode());
  await setup.getByRole("button", { name: "Set up" }).click();
  await closeWithoutCopying(here.getByRole("dialog", { name: "Your recovery codes" }));
  await here.getByRole("button", { name: "Remove the authenticator app" }).click();
  const dialog = here.getByRole("dialog", { name: "Remove the authenticator app?" });
  await here.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(here)).toEqual([]);
  await dialog.getByRole("button", { name: "Remove" }).click();
  await here.getByText("The authenticator app was removed.").waitFor();
  await here.getByRole("button", { name: "Set up an authenticator app" }).waitFor();
  await dialog.waitFor({ state: "detached" });
  await here.locator("#content:focus").waitFor();
  expect(await here.getByRole("button", { name: "Create new codes" }).count()).toBe(0);
});
