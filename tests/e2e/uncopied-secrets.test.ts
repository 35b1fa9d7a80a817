import { TOTP } from "otpauth";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { gapBetween } from "./gap-between.ts";
import { holdCall } from "./hold-call.ts";
import { stayDuringCall } from "./stay-during-call.ts";
import { untilFocused } from "./until-focused.ts";

// A secret is shown once, so leaving it without a copy asks for confirmation.

let page: Page;
let slug: string;

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page } = await browser.open({ permissions: ["clipboard-read", "clipboard-write"] }));
  await enter(page, baseUrl);
  const workspace = await getWorkspace(page);
  slug = workspace.slug;
  const fields = { name: "Production", prefix: "acme" };
  await proceduresOf(page).keyspaces.create.mutate({ workspaceId: workspace.id, fields });
});

const secret = () => page.getByRole("dialog", { name: "Copy the new secret" });
const question = () => page.getByRole("dialog", { name: "Leave this page?" });
const list = () => page.getByRole("heading", { name: "Keyspaces", level: 1 });

/** Submits the form of a new key, on a page from which Back leads to the list of keyspaces. */
async function submitKey(): Promise<void> {
  await page.goto(`${environment.baseUrl}/w/${slug}/keyspaces`);
  await page.getByRole("link", { name: "Production", exact: true }).click();
  await list().waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Issue key", exact: true }).click();
  const form = page.getByRole("dialog", { name: "Issue a key" });
  await form.getByRole("button", { name: "Issue key" }).click();
}

async function issueKey(): Promise<void> {
  await submitKey();
  await secret().waitFor();
}

async function stay(): Promise<void> {
  await question().getByRole("button", { name: "Stay" }).click();
  await question().waitFor({ state: "detached" });
}

async function signOut(): Promise<void> {
  await page.keyboard.press("Control+k");
  await untilFocused(page.getByRole("dialog", { name: "Search" }));
  await page.keyboard.type("sign out");
  await page.getByRole("option", { name: "Sign out", selected: true }).waitFor();
  await page.keyboard.press("Enter");
}

/** Reloads the page, which is reloaded whatever it asks. Returns the kinds of its questions. */
async function reload(): Promise<readonly string[]> {
  const types: string[] = [];
  page.on("dialog", (dialog) => {
    types.push(dialog.type());
    void dialog.accept();
  });
  await page.reload();
  page.removeAllListeners("dialog");
  return types;
}

test("asks before Back loses a secret that wasn't copied", async () => {
  await issueKey();
  await page.goBack();
  await question()
    .getByText("Secrets that you haven’t copied or downloaded would be lost. They won’t be shown again.")
    .waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await stay();
  expect(await secret().getByRole("textbox", { name: "Key" }).inputValue()).toMatch(/^acme_/);
  await page.goBack();
  await question().getByRole("button", { name: "Leave page" }).click();
  await list().waitFor();
  await question().waitFor({ state: "detached" });
});

test("asks before signing out loses a secret that wasn't copied", async () => {
  await issueKey();
  await signOut();
  await stay();
  expect(await secret().getByRole("textbox", { name: "Key" }).inputValue()).toMatch(/^acme_/);
});

test("asks before closing the tab loses a secret that wasn't copied", async () => {
  await issueKey();
  expect(await reload()).toEqual(["beforeunload"]);
});

test("asks before a secret whose call is in flight is lost, although the form has no input", async () => {
  const call = await holdCall(page, "issuedKeys.create");
  await submitKey();
  await call.isSent;
  await page.goBack();
  await stay();
  await signOut();
  await stay();
  call.release();
  expect(await secret().getByRole("textbox", { name: "Key" }).inputValue()).toMatch(/^acme_/);
  const next = await holdCall(page, "issuedKeys.create");
  await submitKey();
  await next.isSent;
  expect(await reload()).toEqual(["beforeunload"]);
  next.release();
});

test("asks nothing while the call waits for another authentication", async () => {
  const age = "update sessions set created_at = now() - interval '1 day', authenticated_at = null";
  await environment.change(age);
  await submitKey();
  await page.getByRole("dialog", { name: "Confirm your password" }).waitFor();
  expect(await reload()).toEqual([]);
  await environment.change("update sessions set created_at = now(), authenticated_at = now()");
});

test("asks nothing once the secret was copied", async () => {
  await issueKey();
  await secret().getByRole("button", { name: "Copy key" }).click();
  await secret().getByText("Copied").first().waitFor();
  await page.goBack();
  await list().waitFor();
  expect(await question().count()).toBe(0);
});

test("asks nothing after the dialog was closed without copying the secret", async () => {
  await issueKey();
  const done = secret().getByRole("button", { name: "Done" });
  await done.click();
  await secret().getByText("You haven’t copied the key").waitFor();
  await done.click();
  await secret().waitFor({ state: "detached" });
  await page.goBack();
  await list().waitFor();
  expect(await question().count()).toBe(0);
});

test("asks before recovery codes are lost, while their call is in flight and until they were copied", async () => {
  await page.goto(`${environment.baseUrl}/w/${slug}/keyspaces`);
  await list().waitFor();
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Security" }).click();
  await page.getByRole("button", { name: "Set up an authenticator app" }).click();
  const setup = page.getByRole("dialog", { name: "Set up an authenticator app" });
  const base32 = ((await setup.locator("code").textContent()) ?? "").replaceAll(" ", "");
  await setup.getByRole("textbox", { name: "Code" }).fill(new TOTP({ secret: base32 }).generate());
  await stayDuringCall(page, "factors.enableTotp", () =>
    setup.getByRole("button", { name: "Set up" }).click(),
  );
  const codes = page.getByRole("dialog", { name: "Your recovery codes" });
  await codes.getByText("Each one works once instead of your authenticator app or passkey.").waitFor();
  const copy = codes.getByRole("button", { name: "Copy recovery codes" });
  expect(await gapBetween(codes.getByRole("list"), copy)).toBeCloseTo(16);
  await page.goBack();
  await stay();
  await copy.click();
  await codes.getByText("Copied").first().waitFor();
  await page.goBack();
  await list().waitFor();
});

test("asks before new recovery codes whose call is in flight are lost", async () => {
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Security" }).click();
  await page.getByRole("button", { name: "Create new codes" }).click();
  const confirmation = page.getByRole("dialog", { name: "Create new recovery codes?" });
  await stayDuringCall(page, "factors.createRecoveryCodes", () =>
    confirmation.getByRole("button", { name: "Create new codes" }).click(),
  );
  const codes = page.getByRole("dialog", { name: "Your recovery codes" });
  await codes.getByRole("button", { name: "Copy recovery codes" }).click();
  await codes.getByText("Copied").first().waitFor();
});

test("leads to sign-in only after the secret was copied if the session ends", async () => {
  await issueKey();
  const rejected = () => page.waitForResponse((response) => response.status() === 401);
  await page.context().clearCookies();
  // The page has handled the first rejection when it sends the next call. The user returns to the window, too.
  await rejected();
  await page.evaluate('dispatchEvent(new Event("focus"))');
  await rejected();
  expect(await secret().getByRole("textbox", { name: "Key" }).inputValue()).toMatch(/^acme_/);
  await secret().getByRole("button", { name: "Copy key" }).click();
  await page.getByText("Your session has ended. Sign in to continue.").waitFor();
});
