import type { Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { startProvider } from "../support/openid-provider.ts";
import { signUp, visitor } from "../support/visitor.ts";
import { prepareEnvironment } from "./environment.ts";
import { failCalls } from "./fail-calls.ts";
import { holdCall } from "./hold-call.ts";
import { loseResponse } from "./lose-response.ts";
import { routeOnce } from "./route-once.ts";

// People sign up and sign in with a real OpenID provider, which is another site than the product. Each test continues where
// the previous one ended.

const provider = await startProvider();
afterAll(() => provider.stop());

let page: Page;
const name = "Example ID";

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  provider.register(baseUrl);
  provider.setClaims("grace", { email: "grace@example.com", isEmailVerified: true });
  ({ page } = await browser.open());
}, provider.variables);

/** Enters a name at the provider, and consents if it asks. */
async function passProvider(subject: string): Promise<void> {
  await page.locator("input[name=login]").fill(subject);
  await page.locator("input[name=password]").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
}

async function consent(): Promise<void> {
  await page.getByRole("button", { name: "Continue" }).click();
}

async function signOut(): Promise<void> {
  await page.getByRole("button", { name: /^Account menu|^Account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
}

/** Makes the last authentication an hour old. */
const age = () =>
  environment.change(
    "update sessions set created_at = created_at - interval '1 hour', authenticated_at = authenticated_at - interval '1 hour'",
  );

test("a person signs up and gets a workspace of their own", async () => {
  await page.goto(`${environment.baseUrl}/sign-up`);
  await page.getByRole("button", { name: `Sign in with ${name}` }).waitFor();
  await page.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  // Going back from the provider shows the page as it was. Here, the page is never left.
  await routeOnce(page, `${provider.variables.OIDC_ISSUER}/**`, (route) => route.fulfill({ status: 204 }));
  const left = page.waitForEvent("requestfailed", (request) => request.isNavigationRequest());
  await page.getByRole("button", { name: `Sign in with ${name}` }).click();
  await left;
  await page.locator("button[data-loading]").waitFor();
  await page.locator("html").dispatchEvent("pageshow"); // Bubbles to the window.
  await page.getByRole("button", { name: `Sign in with ${name}` }).click();
  await passProvider("grace");
  await consent();
  await page.getByRole("heading", { name: "Quick start" }).waitFor();
  expect(new URL(page.url()).search).toBe("");
});

test("they sign out, and sign in again to the page that they asked for", async () => {
  await signOut();
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("button", { name: `Sign in with ${name}` }).click();
  await page.getByRole("heading", { name: /API keys/, level: 1 }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/account/api-keys");
});

test("a person with an old sign-in authenticates again at the provider before a key is created", async () => {
  await age();
  const create = async () => {
    await page.getByRole("button", { name: "New API key" }).first().click();
    await page.getByRole("dialog").getByLabel("Name").fill("CI");
    await page.getByRole("button", { name: "Create key" }).click();
  };
  // Until the sign-in methods are known, the dialog shows none of them.
  const methods = await holdCall(page, "[^?]*account.signInMethods");
  await create();
  await methods.isSent;
  await page.getByRole("button", { name: "Confirm", exact: true }).and(page.locator("[disabled]")).waitFor();
  expect(await page.locator("input[type=password]").count()).toBe(0);
  methods.release();
  const dialog = page.getByRole("dialog", { name: "Confirm that it’s you" });
  const confirm = dialog.getByRole("button", { name: `Confirm with ${name}` });
  // They stay on the page when the browser asks, which returns the focus to the window, and can then confirm.
  page.once("dialog", (question) => void question.dismiss());
  const asked = page.waitForEvent("dialog");
  await confirm.click();
  await asked;
  await dialog.locator("button[data-loading]").waitFor();
  await page.locator("html").dispatchEvent("focus", { bubbles: true });
  page.once("dialog", (question) => void question.accept());
  await confirm.click();
  // The person is still signed in at the provider, which asks for the password nevertheless.
  await passProvider("grace");
  await page.getByRole("heading", { name: /API keys/, level: 1 }).waitFor();
  await create();
  await page.getByText(/^lk_/).first().waitFor();
});

test("they can't unlink their only sign-in method, and can after they set a password", async () => {
  await page.goto(`${environment.baseUrl}/account/security`);
  await page.getByRole("button", { name: `Unlink ${name}` }).click();
  const dialog = page.getByRole("dialog", { name: `Unlink ${name}?` });
  await dialog.getByText("You can no longer sign in with your identity at Example ID").waitFor();
  await page.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Unlink identity" }).click();
  await dialog.getByText("Set a password first.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page
    .getByRole("button", { name: `Unlink ${name}` })
    .and(page.locator(":focus"))
    .waitFor();
  await page.goto(`${environment.baseUrl}/account/profile`);
  await page.getByLabel("New password").fill(visitor.password);
  // The page shows that the password was set even if the response is lost.
  await loseResponse(page, "account.setPassword");
  await page.getByRole("button", { name: "Set password" }).click();
  await page.getByText("Your password was set. Your other sessions have ended.").waitFor();
  await page.getByLabel("Current password").waitFor();
  // The button that was pressed was replaced with the form.
  await page.locator("#content:focus").waitFor();
  await failCalls(page, "account.signInMethods");
  await page.goto(`${environment.baseUrl}/account/security`);
  const panel = page.getByRole("alert").filter({ hasText: "Couldn’t load your sign-in methods" });
  await panel.getByText("req-1234").waitFor();
  await page.unrouteAll();
  await panel.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: `Unlink ${name}` }).click();
  await dialog.getByRole("button", { name: "Unlink identity" }).click();
  await page.getByRole("button", { name: `Link ${name}` }).waitFor();
  await dialog.waitFor({ state: "detached" });
  await page.locator("#content:focus").waitFor();
});

test("a person with a password links an identity with a different email address, and signs in with it", async () => {
  await signOut();
  await page.context().clearCookies();
  await signUp(page, environment.baseUrl);
  await page.goto(`${environment.baseUrl}/account/security`);
  await page.getByRole("button", { name: `Link ${name}` }).click();
  await passProvider("another-name");
  await consent();
  await page.getByRole("button", { name: `Unlink ${name}` }).waitFor();
  await page.getByText(`Linked “${name}” to sign in with it`).waitFor();
  await page.waitForLoadState("networkidle");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await signOut();
  await page.getByRole("button", { name: `Sign in with ${name}` }).click();
  await page.getByRole("heading", { name: "Quick start" }).waitFor();
});

test.each(["https://elsewhere.example/", "//elsewhere.example/", "/\\\\elsewhere.example/"])(
  "a sign-in doesn't lead to another site: %s",
  async (next) => {
    await signOut();
    await page.goto(`${environment.baseUrl}/sign-in?next=${encodeURIComponent(next)}`);
    await page.getByRole("button", { name: `Sign in with ${name}` }).click();
    await page.getByRole("heading", { name: "Quick start" }).waitFor();
    expect(new URL(page.url()).origin).toBe(environment.baseUrl);
  },
);

test("an error of the provider is shown, and the way back", async () => {
  await page.goto(`${environment.baseUrl}/sign-in/openid?error=access_denied&state=x`);
  await page.getByRole("heading", { name: "The sign-in was canceled" }).waitFor();
  const explanation = await page.getByText("The provider didn’t sign you in.").boundingBox();
  const link = await page.getByRole("link", { name: "Go to sign-in" }).boundingBox();
  if (!explanation || !link) throw new Error("The page has no link.");
  // As far apart as on the other pages with only a link.
  expect(link.y - explanation.y - explanation.height).toBeLessThan(24);
  for (const [use, title] of [
    ["link", "The identity wasn’t linked"],
    ["confirmation", "The confirmation was canceled"],
  ] as const) {
    await page.evaluate(`sessionStorage.setItem("latchkey-openid", '{"use":"${use}","next":"/"}')`);
    await page.goto(`${environment.baseUrl}/sign-in/openid?error=access_denied&state=x`);
    await page.getByRole("heading", { name: title }).waitFor();
  }
  await page.evaluate("sessionStorage.clear()");
  await page.goto(`${environment.baseUrl}/sign-in/openid?code=x&state=x`);
  await page.getByRole("heading", { name: "Couldn’t sign you in" }).waitFor();
  await page
    .getByText("This sign-in has expired, was already completed, or was started in another browser.")
    .waitFor();
});

test("starting over at the second factor keeps the page that the person asked for", async () => {
  await page.evaluate(() => {
    const attempt = { use: "sign-in", next: "/account/security" };
    globalThis.sessionStorage.setItem("latchkey-openid", JSON.stringify(attempt));
  });
  await page.context().clearCookies();
  const data = { secondFactor: { hasTotp: true, hasPasskeys: false } };
  await page.route("**/trpc/session.signInWithOpenid*", (route) =>
    route.fulfill({ json: [{ result: { data } }] }),
  );
  await page.goto(`${environment.baseUrl}/sign-in/openid?code=x&state=x`);
  await page.getByRole("button", { name: "Start over" }).click();
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  expect(new URL(page.url()).searchParams.get("next")).toBe("/account/security");
});
