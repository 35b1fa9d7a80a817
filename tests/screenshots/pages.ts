import type { Page } from "playwright-core";
import { openPage } from "./scenes.ts";
import type { Visit } from "./states.ts";

/** Takes the pages of a signed-in user, and their dialogs. */
export async function takePages(page: Page, visit: Visit): Promise<void> {
  const { baseUrl, slug, keyId, disabledId, webhookId, serviceAccountId, requiringSlug, scene } = visit;
  const dialog = page.getByRole("dialog");
  const inView = { fullPage: false };
  const open = (path: string) => page.goto(`${baseUrl}/${path}`);
  const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
  for (const [name, path, text] of [
    ["overview", `w/${slug}`, "Show the audit log"],
    ["workspace-keys", `w/${slug}/api-keys`, "Deploy pipeline"],
    ["members", `w/${slug}/members`, "Grace Hopper"],
    ["invitations", `w/${slug}/members/invitations`, "ken@example.com"],
    ["service-accounts", `w/${slug}/members/service-accounts`, "Nightly export"],
    ["service-account", `w/${slug}/members/service-accounts/${serviceAccountId}`, "Nightly export"],
    ["second-factor-required", `w/${requiringSlug}`, "requires a second factor"],
    ["workspace-disabled", `w/${visit.disabledSlug}`, "is disabled"],
    ["webhooks", `w/${slug}/webhooks`, "The archive"],
    ["webhook", `w/${slug}/webhooks/${webhookId}`, "Test message"],
    ["audit-log", `w/${slug}/audit`, "created the workspace"],
    ["settings", `w/${slug}/settings`, "Delete workspace"],
    ["api-keys", "account/api-keys", "Deploy pipeline"],
    ["profile", "account/profile", "Current password"],
    ["security", "account/security", "Created the API key"],
    ["notices", "account/notices", "Notices are deleted"],
    ["operator-users", "operator/users", "Grace Hopper"],
    ["operator-workspaces", "operator/workspaces", "Production"],
    ["operator-health", "operator/instance", "Reachable"],
    ["operator-log", "operator/log", "Registration changed"],
    ["request", `account/requests/${visit.requestId}`, "What happened"],
    ["not-found", "nowhere", "Page not found"],
    ["no-match", "account/api-keys?q=nothing", "No key matches"],
    ["docs", "docs", "Latchkey open API"],
  ] as const) {
    await scene(name, async (take) => {
      await openPage(page, `${baseUrl}/${path}`, text);
      await take(name, name === "docs" ? inView : {});
    });
  }
  const key = `account/api-keys/${keyId}`;
  await scene("api-key", async (take) => {
    await open(key);
    await page.getByRole("img", { name: /^Requests in the last/ }).waitFor();
    await take("api-key");
  });
  await scene(["api-keys-selected", "delete-selected"], async (take) => {
    await open("account/api-keys");
    await page.getByRole("checkbox", { name: "Select Deploy pipeline" }).check();
    await take("api-keys-selected", inView);
    await press("Delete");
    await dialog.waitFor();
    await take("delete-selected", inView);
  });
  await scene("columns", async (take) => {
    await open("account/api-keys");
    await press("Columns");
    await page.getByRole("menuitemcheckbox").first().waitFor();
    await take("columns", inView);
  });
  await scene("role", async (take) => {
    await open(`w/${slug}/members`);
    await page.getByRole("combobox", { name: "Role of Grace Hopper" }).click();
    await page.getByRole("option", { name: "Viewer" }).click();
    await dialog.waitFor();
    await take("role", inView);
  });
  for (const [name, path, button] of [
    ["new-api-key", "account/api-keys", "New API key"],
    ["edit-api-key", key, "Edit"],
    ["rotate", key, "Rotate"],
    ["revoke-old-secrets", key, "Revoke old secret"],
    ["disable-api-key", key, "Disable key"],
    ["delete-api-key", key, "Delete key"],
    ["try-it", "account/api-keys", "Try it"],
    ["invite", `w/${slug}/members`, "Invite member"],
    ["resend-invitation", `w/${slug}/members/invitations`, "Resend the invitation for ken@example.com"],
    ["revoke-invitation", `w/${slug}/members/invitations`, "Revoke the invitation for ken@example.com"],
    ["new-webhook", `w/${slug}/webhooks`, "New webhook"],
    ["edit-webhook", `w/${slug}/webhooks/${webhookId}`, "Edit"],
    ["rotate-webhook-secret", `w/${slug}/webhooks/${webhookId}`, "Rotate secret"],
    ["disable-webhook", `w/${slug}/webhooks/${webhookId}`, "Disable webhook"],
    ["delete-webhook", `w/${slug}/webhooks/${webhookId}`, "Delete webhook"],
    ["remove-member", `w/${slug}/members`, "Remove Linus Torvalds"],
    ["roles", `w/${slug}/members`, "what each role can do"],
    ["delete-workspace", `w/${slug}/settings`, "Delete workspace"],
    ["require-second-factor", `w/${slug}/settings`, "Require a second factor"],
    ["retention", `w/${slug}/settings`, "Change retention"],
    ["block-api-key", `w/${slug}/api-keys`, "Block Deploy pipeline"],
    ["export", `w/${slug}/audit`, "Export"],
    ["new-service-account", `w/${slug}/members/service-accounts`, "New service account"],
    ["edit-service-account", `w/${slug}/members/service-accounts/${serviceAccountId}`, "Edit"],
    ["service-account-key", `w/${slug}/members/service-accounts/${serviceAccountId}`, "New API key"],
    [
      "delete-service-account",
      `w/${slug}/members/service-accounts/${serviceAccountId}`,
      "Delete service account",
    ],
    ["leave-workspace", `w/${requiringSlug}`, "Leave the workspace"],
    ["totp", "account/security", "Set up an authenticator app"],
    ["delete-account", "account/profile", "Delete account"],
    ["enable-api-key", `account/api-keys/${disabledId}`, "Enable"],
  ] as const) {
    await scene(name, async (take) => {
      await open(path);
      await press(button);
      await dialog.waitFor();
      await take(name, inView);
    });
  }
  await scene("discard-changes", async (take) => {
    await open(key);
    await press("Edit");
    await dialog.getByLabel("Name", { exact: true }).fill("Releases");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Discard unsaved changes?" }).waitFor();
    await take("discard-changes", inView);
  });
  await scene(["user-actions", "disable-user"], async (take) => {
    await open("operator/users");
    const disable = page.getByRole("menuitem", { name: "Disable" });
    const show = async () => {
      if (!(await disable.isVisible())) await press("Manage Grace Hopper");
      await disable.waitFor();
    };
    await show();
    await take("user-actions", { ...inView, show });
    await disable.click();
    await dialog.waitFor();
    await take("disable-user", inView);
  });
  for (const [name, workspace, action] of [
    ["disable-workspace", "Production", "Disable"],
    ["enable-workspace", "Archive", "Enable"],
  ] as const) {
    await scene(name, async (take) => {
      await open("operator/workspaces");
      await press(`Manage ${workspace}`);
      await page.getByRole("menuitem", { name: action, exact: true }).click();
      await dialog.waitFor();
      await take(name, inView);
    });
  }
  await scene("restrictions", async (take) => {
    await open(key);
    await page
      .getByRole("region", { name: "Restrictions" })
      .getByRole("button", { name: "Edit restrictions" })
      .click();
    await page.getByRole("form", { name: "Restrictions" }).waitFor();
    await take("restrictions");
  });
  await scene("api-key-disabled", async (take) => {
    await openPage(page, `${baseUrl}/account/api-keys/${disabledId}`, "This key is disabled.");
    await take("api-key-disabled", inView);
  });
  await scene(["account-menu", "exact-times"], async (take) => {
    await open("account/profile");
    await press("Account menu");
    await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
    await take("account-menu", inView);
    await page.getByRole("menuitemcheckbox", { name: "Exact times" }).click();
    await openPage(page, `${baseUrl}/w/${slug}/audit`, "created the workspace");
    await take("exact-times");
    await press("Account menu");
    await page.getByRole("menuitemcheckbox", { name: "Exact times" }).click();
  });
  await scene("search", async (take) => {
    await openPage(page, `${baseUrl}/w/${slug}/audit`, "created the workspace");
    await page.keyboard.press("Control+k");
    await dialog.waitFor();
    await take("search", inView);
  });
  await scene(["workspaces", "new-workspace"], async (take) => {
    await open(`w/${slug}/audit`);
    await page.getByRole("button", { name: /^Workspace: / }).click();
    await page.getByRole("menuitem", { name: "New workspace" }).waitFor();
    await take("workspaces", inView);
    await page.getByRole("menuitem", { name: "New workspace" }).click();
    await dialog.waitFor();
    await take("new-workspace", inView);
  });
  await scene("docs-errors", async (take) => {
    await open("docs/errors");
    await take("docs-errors", inView);
  });
}
