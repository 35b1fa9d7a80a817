import type { Page } from "playwright-core";
import { visitor } from "../support/visitor.ts";

// States that a page or dialog has only after input, a failure, or while it loads.

export interface TakeOptions {
  readonly fullPage?: boolean;
  /** Whether a request stays unanswered, so that the network never becomes idle. */
  readonly isLoading?: boolean;
  /** Shows again what the change between a table and cards, or of the width, removes. */
  readonly show?: (width: number) => Promise<void>;
}

export interface StatesVisit {
  readonly baseUrl: string;
  /** The URL of the workspace. */
  readonly slug: string;
  /** The URL of a workspace in which nothing was created. */
  readonly emptySlug: string;
  readonly keyId: string;
  /** A key with a rejected request and restrictions. */
  readonly limitedId: string;
  readonly expiredId: string;
  readonly keyspaceId: string;
  readonly issuedKeyId: string;
  /** Different for each visit. */
  readonly colorScheme: string;
  readonly take: (name: string, options?: TakeOptions) => Promise<void>;
}

/** Takes the states of a signed-in user. */
export async function takeStates(page: Page, visit: StatesVisit): Promise<void> {
  const { baseUrl, slug, emptySlug, keyId, limitedId, expiredId, keyspaceId, colorScheme, take } = visit;
  const dialog = page.getByRole("dialog");
  const inView = { fullPage: false };
  const close = async () => {
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  };
  const press = (name: string | RegExp) => page.getByRole("button", { name, exact: true }).first().click();
  for (const [name, path, text] of [
    ["workspace-keys-no-match", `w/${slug}/api-keys?q=nothing`, "No key matches"],
    ["invitations-empty", `w/${emptySlug}/members/invitations`, "No pending invitations"],
    ["invitations-no-match", `w/${slug}/members/invitations?q=nothing`, "No invitation matches"],
    ["service-accounts-empty", `w/${emptySlug}/members/service-accounts`, "No service accounts yet"],
    ["keyspaces-empty", `w/${emptySlug}/keyspaces`, "No keyspaces yet"],
    ["keyspaces-no-match", `w/${slug}/keyspaces?q=nothing`, "No keyspace matches"],
    ["keyspace-no-match", `w/${slug}/keyspaces/${keyspaceId}?q=nothing`, "No key matches"],
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
    await page.goto(`${baseUrl}/${path}`);
    await page.getByText(text).first().waitFor();
    await take(name);
  }
  for (const [name, path, button] of [
    ["end-session", "account/security", /^End the session of/],
    ["end-other-sessions", "account/security", "End all other sessions"],
    ["sign-out-everywhere", "account/security", "Sign out everywhere"],
  ] as const) {
    await page.goto(`${baseUrl}/${path}`);
    await press(button);
    await dialog.waitFor();
    await take(name, inView);
    await close();
  }
  for (const [name, action] of [
    ["reset-link", "Create a reset link"],
    ["make-operator", "Make an operator"],
    ["end-user-sessions", "End all sessions"],
  ] as const) {
    await page.goto(`${baseUrl}/operator/users`);
    await press("Manage Grace Hopper");
    await page.getByRole("menuitem", { name: action }).click();
    await dialog.waitFor();
    if (name === "reset-link") {
      await press("Create link");
      await dialog.getByRole("button", { name: /^Copy/ }).first().waitFor();
    }
    await take(name, inView);
    await close();
  }
  await page.goto(`${baseUrl}/w/${slug}/members`);
  await page.getByRole("combobox", { name: "Role of Grace Hopper" }).click();
  await page.getByRole("option", { name: "Owner" }).click();
  await dialog.waitFor();
  await take("role-owner", inView);
  await close();
  await page.getByRole("checkbox", { name: "Select Grace Hopper" }).check();
  await press("Remove");
  await dialog.waitFor();
  await take("remove-selected", inView);
  await close();
  await press("Invite member");
  await dialog.getByLabel("Email address").fill(`${colorScheme}@example.com`);
  await press("Create invitation");
  await dialog.getByRole("button", { name: /^Copy/ }).first().waitFor();
  await take("invitation-link", inView);
  await page.goto(`${baseUrl}/w/${slug}/api-keys`);
  await page.getByRole("checkbox", { name: "Select Grafana" }).check();
  await take("workspace-keys-selected", inView);
  await page.goto(`${baseUrl}/w/${slug}/settings`);
  await page.getByRole("checkbox", { name: "Require IP ranges" }).check();
  await press("Review and save");
  await dialog
    .getByText(/would stop working/)
    .first()
    .waitFor();
  await take("policy", inView);
  await page.goto(`${baseUrl}/account/api-keys/${limitedId}`);
  await page
    .getByRole("region", { name: "Restrictions" })
    .getByRole("button", { name: "Edit restrictions" })
    .click();
  await page.getByRole("radio", { name: "All workspaces, including future ones" }).check();
  await press("Save restrictions");
  await dialog.waitFor();
  await take("expand-access", inView);
  await page.goto(`${baseUrl}/account/api-keys/${keyId}`);
  await page.getByRole("region", { name: "Try it" }).getByRole("button", { name: "Try a request" }).click();
  await page.getByRole("region", { name: "Try it" }).getByRole("button", { name: "Try it" }).click();
  await page.getByRole("region", { name: "Try it" }).getByRole("status").getByText(/./).first().waitFor();
  await take("try-it-result", inView);
  await page.goto(`${baseUrl}/account/api-keys?dialog=new`);
  await dialog.getByText("Restrict this key").click();
  await dialog.getByRole("radio", { name: "Selected permissions" }).check();
  await dialog.getByLabel("IP ranges").fill("203.0.113.0/24\n10.0.0.300");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByText("Enter a name").waitFor();
  await take("new-api-key-invalid", inView);
  await page.goto(`${baseUrl}/account/api-keys?dialog=new`);
  await dialog.getByLabel("Name", { exact: true }).fill(`Created in ${colorScheme}`);
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByText("Copy the new secret").waitFor();
  await take("new-secret", inView);
  await page.goto(`${baseUrl}/account/security`);
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
  await close();
  await page.keyboard.press("Control+k");
  await dialog.getByRole("combobox").fill("dep");
  await dialog.getByText("Deploy pipeline").first().waitFor();
  await take("search-results", inView);
  await close();
  await page.goto(`${baseUrl}/w/${slug}/members`);
  await page.getByText("Grace Hopper").first().waitFor();
  const expand = page.getByRole("button", { name: "Expand sidebar" });
  await press("Collapse sidebar");
  await expand.waitFor();
  await take("navigation", {
    ...inView,
    async show(width) {
      if (width < 640) {
        await press("Open navigation");
        await dialog.getByRole("link", { name: "Overview" }).waitFor();
      } else if (await dialog.isVisible()) await close();
    },
  });
  await expand.click();
  // A list that loads, one that failed to load, and a server that can't be reached.
  const lists = "**/trpc/workspaceKeys.list*";
  await page.route(lists, () => {});
  await page.goto(`${baseUrl}/w/${slug}/api-keys`);
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
}

/** Takes the states of a visitor without a session. */
export async function takeSignInStates(
  page: Page,
  { baseUrl, take }: Pick<StatesVisit, "baseUrl" | "take">,
): Promise<void> {
  await page.goto(`${baseUrl}/sign-in/openid`);
  await page.getByRole("link").first().waitFor();
  await take("openid");
  await page.goto(`${baseUrl}/sign-in?ended=yes`);
  await page.getByLabel("Email").fill(visitor.email);
  await page.getByLabel("Password").fill("not the password at all");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").or(page.locator("[aria-invalid=true]")).first().waitFor();
  await take("sign-in-failed");
}
