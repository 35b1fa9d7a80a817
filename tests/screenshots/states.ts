import type { Page } from "playwright-core";
import { visitor } from "../support/visitor.ts";
import type { Content } from "./add-content.ts";
import { openPage, type Scene } from "./scenes.ts";

// States that a page or dialog has only after input, a failure, or while it loads.

export interface Visit extends Content {
  readonly baseUrl: string;
  /** Different for each visit. */
  readonly colorScheme: string;
  readonly scene: Scene;
}

/** Takes the states of a signed-in user. */
export async function takeStates(page: Page, visit: Visit): Promise<void> {
  const { baseUrl, slug, emptySlug, keyId, limitedId, expiredId, colorScheme, scene } = visit;
  const dialog = page.getByRole("dialog");
  const inView = { fullPage: false };
  const open = (path: string) => page.goto(`${baseUrl}/${path}`);
  const press = (name: string | RegExp) => page.getByRole("button", { name, exact: true }).first().click();
  for (const [name, path, text] of [
    ["workspace-keys-no-match", `w/${slug}/api-keys?q=nothing`, "No key matches"],
    ["invitations-empty", `w/${emptySlug}/members/invitations`, "No pending invitations"],
    ["invitations-no-match", `w/${slug}/members/invitations?q=nothing`, "No invitation matches"],
    ["service-accounts-empty", `w/${emptySlug}/members/service-accounts`, "No service accounts yet"],
    ["webhooks-empty", `w/${emptySlug}/webhooks`, "No webhooks yet"],
    ["webhooks-no-match", `w/${slug}/webhooks?q=nothing`, "No webhook matches"],
    ["audit-log-no-match", `w/${slug}/audit?from=2020-01-01&to=2020-01-02`, "No event matches"],
    ["security-log-no-match", "account/security?from=2020-01-01&to=2020-01-02", "No event matches"],
    ["members-no-match", `w/${slug}/members?q=nothing`, "No member matches"],
    ["users-no-match", "operator/users?q=nothing", "No user matches"],
    ["request-unknown", "account/requests/no-such-request", "No rejected request"],
    ["api-key-limited", `account/api-keys/${limitedId}`, "partner-import-0412"],
    ["api-key-expired", `account/api-keys/${expiredId}`, "This key expired"],
  ] as const) {
    await scene(name, async (take) => {
      await openPage(page, `${baseUrl}/${path}`, text);
      await take(name);
    });
  }
  for (const [name, button] of [
    ["end-session", /^End the session of/],
    ["end-other-sessions", "End all other sessions"],
    ["sign-out-everywhere", "Sign out everywhere"],
  ] as const) {
    await scene(name, async (take) => {
      await open("account/security");
      await press(button);
      await dialog.waitFor();
      await take(name, inView);
    });
  }
  for (const [name, action] of [
    ["reset-link", "Create a reset link"],
    ["make-operator", "Make an operator"],
    ["end-user-sessions", "End all sessions"],
  ] as const) {
    await scene(name, async (take) => {
      await open("operator/users");
      await press("Manage Grace Hopper");
      await page.getByRole("menuitem", { name: action }).click();
      await dialog.waitFor();
      if (name === "reset-link") {
        await press("Create link");
        await dialog.getByRole("button", { name: /^Copy/ }).first().waitFor();
      }
      await take(name, inView);
    });
  }
  await scene("role-owner", async (take) => {
    await open(`w/${slug}/members`);
    await page.getByRole("combobox", { name: "Role of Grace Hopper" }).click();
    await page.getByRole("option", { name: "Owner" }).click();
    await dialog.waitFor();
    await take("role-owner", inView);
  });
  await scene("remove-selected", async (take) => {
    await open(`w/${slug}/members`);
    await page.getByRole("checkbox", { name: "Select Grace Hopper" }).check();
    await press("Remove");
    await dialog.waitFor();
    await take("remove-selected", inView);
  });
  await scene("invitation-link", async (take) => {
    await open(`w/${slug}/members`);
    await press("Invite member");
    await dialog.getByLabel("Email address").fill(`${colorScheme}@example.com`);
    await press("Create invitation");
    await dialog.getByRole("button", { name: /^Copy/ }).first().waitFor();
    await take("invitation-link", inView);
  });
  await scene("workspace-keys-selected", async (take) => {
    await open(`w/${slug}/api-keys`);
    await page.getByRole("checkbox", { name: "Select Grafana" }).check();
    await take("workspace-keys-selected", inView);
  });
  await scene("policy", async (take) => {
    await open(`w/${slug}/settings`);
    await page.getByRole("checkbox", { name: "Require IP ranges" }).check();
    await press("Review and save");
    await dialog
      .getByText(/would stop working/)
      .first()
      .waitFor();
    await take("policy", inView);
  });
  await scene("expand-access", async (take) => {
    await open(`account/api-keys/${limitedId}`);
    await page
      .getByRole("region", { name: "Restrictions" })
      .getByRole("button", { name: "Edit restrictions" })
      .click();
    await page.getByRole("radio", { name: "All workspaces, including future ones" }).check();
    await press("Save restrictions");
    await dialog.waitFor();
    await take("expand-access", inView);
  });
  await scene("try-it-result", async (take) => {
    await open(`account/api-keys/${keyId}`);
    const section = page.getByRole("region", { name: "Try it" });
    await section.getByRole("button", { name: "Try a request" }).click();
    await section.getByRole("button", { name: "Try it" }).click();
    await section.getByRole("status").getByText(/./).first().waitFor();
    await take("try-it-result", inView);
  });
  await scene("new-api-key-invalid", async (take) => {
    await open("account/api-keys?dialog=new");
    await dialog.getByText("Restrict this key").click();
    await dialog.getByRole("radio", { name: "Selected permissions" }).check();
    await dialog.getByLabel("IP ranges").fill("203.0.113.0/24\n10.0.0.300");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.getByText("Enter a name").waitFor();
    await take("new-api-key-invalid", inView);
  });
  await scene("new-secret", async (take) => {
    await open("account/api-keys?dialog=new");
    await dialog.getByLabel("Name", { exact: true }).fill(`Created in ${colorScheme}`);
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.getByText("Copy the new secret").waitFor();
    await take("new-secret", inView);
  });
  await scene("confirm-password", async (take) => {
    await open("account/security");
    const data = {
      code: "FORBIDDEN",
      httpStatus: 403,
      requestId: "0f8fad5b",
      issues: [{ path: "", code: "reauthentication_required", message: "" }],
    };
    const error = { code: -32003, message: "Insufficient access", data };
    await page.route("**/trpc/factors.createTotp*", (route) =>
      route.fulfill({ status: 403, json: [{ error }] }),
    );
    await press("Set up an authenticator app");
    await dialog.getByLabel("Password", { exact: true }).waitFor();
    await take("confirm-password", inView);
    await page.unrouteAll();
  });
  await scene("search-results", async (take) => {
    await openPage(page, `${baseUrl}/w/${slug}/members`, "Grace Hopper");
    await page.keyboard.press("Control+k");
    await dialog.getByRole("combobox").fill("dep");
    await dialog.getByText("Deploy pipeline").first().waitFor();
    await take("search-results", inView);
  });
  await scene("navigation", async (take) => {
    await openPage(page, `${baseUrl}/w/${slug}/members`, "Grace Hopper");
    await press("Collapse sidebar");
    await page.getByRole("button", { name: "Expand sidebar" }).waitFor();
    await take("navigation", {
      ...inView,
      async show(width) {
        if (width < 640) {
          await press("Open navigation");
          await dialog.getByRole("link", { name: "Overview" }).waitFor();
        } else if (await dialog.isVisible()) {
          await page.keyboard.press("Escape");
          await dialog.waitFor({ state: "detached" });
        }
      },
    });
    // The following states are shown with the navigation that a window has by default.
    await page.evaluate("localStorage.removeItem('latchkey.navigation-folded')");
  });
  // A list that loads, one that failed to load, and a server that can't be reached.
  await scene(["workspace-keys-loading", "unreachable"], async (take) => {
    const lists = "**/trpc/workspaceKeys.list*";
    await page.route(lists, () => {});
    await open(`w/${slug}/api-keys`);
    await page.locator("[aria-busy=true]").first().waitFor();
    await take("workspace-keys-loading", { ...inView, isLoading: true });
    await page.unroute(lists);
    await page.reload();
    await page.getByRole("row").nth(1).waitFor();
    await page.route("**/trpc/**", (route) => route.abort());
    await page.route("**/readyz", (route) => route.abort());
    await page.getByText("Can’t reach the server").waitFor();
    await take("unreachable", { ...inView, isLoading: true });
    await page.unrouteAll();
  });
}

/** Takes the states of a visitor without a session. */
export async function takeSignInStates(page: Page, { baseUrl, scene, ...visit }: Visit): Promise<void> {
  for (const [name, path, text] of [
    ["sign-up", "/sign-up", "Create account"],
    ["forgot-password", "/forgot-password", "Forgot"],
    ["reset-password", "/reset-password#no-such-token", "link"],
    ["confirm-email", "/confirm-email#no-such-token", "link"],
    ["verify-email", "/verify-email#no-such-token", "Sign in first"],
    ["invitation", visit.invitationPath, "Ada"],
    ["sign-in", "/sign-in", "Sign in"],
    ["openid", "/sign-in/openid", "The sign-in was canceled"],
  ] as const) {
    await scene(name, async (take) => {
      await openPage(page, baseUrl + path, text);
      await take(name);
    });
  }
  await scene("sign-in-failed", async (take) => {
    await page.goto(`${baseUrl}/sign-in?ended=yes`);
    await page.getByLabel("Email").fill(visitor.email);
    await page.getByLabel("Password").fill("not the password at all");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").or(page.locator("[aria-invalid=true]")).first().waitFor();
    await take("sign-in-failed");
  });
}
