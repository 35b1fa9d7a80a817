import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { decodeId } from "@latchkey/db/ids";
import type { BrowserContext, Page } from "playwright-core";
import { getWorkspace, proceduresOf } from "../e2e/call.ts";
import { startBrowser } from "../support/browser.ts";
import { open, toUuid } from "../support/inspection.ts";
import { connectionTo } from "../support/postmaster.ts";
import { projectRoot } from "../support/product.ts";
import { createTestInstance } from "../support/test-instance.ts";
import { callOpenApi, signUp, visitor } from "../support/visitor.ts";
import { addKeyspaces } from "./add-keyspaces.ts";
import { takeKeyspaceStates } from "./keyspace-states.ts";
import { type StatesVisit, type TakeOptions, takeSignInStates, takeStates } from "./states.ts";

// Takes a picture of every page and dialog, at four widths, in light and dark, to look at them one by one:
// `pnpm screenshots:all [folder]`.

const directory = resolve(process.argv[2] ?? join(projectRoot, "tests/.results/pages"));
/** The visit is made at the last width. */
const widths = [375, 768, 1024, 1440];
const height = 900;
const people = [
  ["Grace Hopper", "grace@example.com", "admin"],
  ["Linus Torvalds", "linus.benedict.torvalds@kernel-maintainers.example.com", "member"],
  ["Margaret Elaine Heafield Hamilton", "margaret@example.com", "viewer"],
] as const;

await mkdir(directory, { recursive: true });
const [instance, browser] = await Promise.all([createTestInstance(), startBrowser()]);
const { baseUrl } = await instance.start();
try {
  await visitFresh("setup", "/sign-up", "Create account");
  const { page: maker } = await browser.open();
  await signUp(maker, baseUrl);
  await visitFresh("quick-start", "/", "Create an API key", await maker.context().cookies());
  const made = await fill(maker);
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await openPage(colorScheme);
    const take: StatesVisit["take"] = (name, options) => takeAll(page, `${name}-*-${colorScheme}`, options);
    await takeSignInStates(page, { baseUrl, take });
    await visit(page, { ...made, take });
    await takeStates(page, { ...made, baseUrl, colorScheme, take });
    await takeKeyspaceStates(page, { ...made, baseUrl, colorScheme, take });
    await page.context().close();
  }
} finally {
  await browser.stop();
  await instance.close();
}

/** Takes a page of an instance that nobody has used. */
async function visitFresh(
  name: string,
  path: string,
  text: string,
  cookies: Parameters<BrowserContext["addCookies"]>[0] = [],
): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await openPage(colorScheme);
    await page.context().addCookies(cookies);
    await page.goto(baseUrl + path);
    await page.getByText(text).first().waitFor();
    await takeAll(page, `${name}-*-${colorScheme}`);
    await page.context().close();
  }
}

async function openPage(colorScheme: "light" | "dark"): Promise<Page> {
  const { page } = await browser.open({ colorScheme, viewport: { width: widths.at(-1) ?? 0, height } });
  return page;
}

/**
 * Takes a picture at each width. Resizes the page, because a visit per width takes three times as long.
 * @param name the name of the file, with a star for the width.
 */
async function takeAll(page: Page, name: string, options: TakeOptions = {}): Promise<void> {
  const { fullPage = true, isLoading = false, show } = options;
  if (!isLoading) await page.waitForLoadState("networkidle");
  for (const width of widths) {
    await page.setViewportSize({ width, height });
    // Two frames later the page is laid out for the new width.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    await show?.(width);
    const path = join(directory, `${name.replace("*", String(width))}.png`);
    // Ends transitions, so that nothing is half visible.
    await page.screenshot({ path, fullPage, animations: "disabled" });
  }
}

interface Visit
  extends Pick<
    StatesVisit,
    "slug" | "emptySlug" | "keyId" | "limitedId" | "expiredId" | "keyspaceId" | "issuedKeyId" | "take"
  > {
  readonly disabledId: string;
  readonly webhookId: string;
  readonly requestId: string;
  readonly serviceAccountId: string;
  /** The path with which a person opens an invitation. */
  readonly invitationPath: string;
  /** The URL of a workspace that requires a second factor. */
  readonly requiringSlug: string;
  /** The URL of a workspace that an operator disabled. */
  readonly disabledSlug: string;
}

async function visit(
  page: Page,
  {
    slug,
    keyId,
    disabledId,
    webhookId,
    keyspaceId,
    issuedKeyId,
    requestId,
    serviceAccountId,
    invitationPath,
    requiringSlug,
    disabledSlug,
    take,
  }: Visit,
): Promise<void> {
  const dialog = page.getByRole("dialog");
  const close = async () => {
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  };
  await page.goto(`${baseUrl}/sign-up`);
  await page.getByRole("button", { name: "Create account" }).waitFor();
  await take("sign-up");
  for (const [name, path, text] of [
    ["forgot-password", "/forgot-password", "Forgot"],
    ["reset-password", "/reset-password#no-such-token", "link"],
    ["confirm-email", "/confirm-email#no-such-token", "link"],
    ["verify-email", "/verify-email#no-such-token", "Sign in first"],
    ["invitation", invitationPath, "Ada"],
  ] as const) {
    await page.goto(baseUrl + path);
    await page.getByText(text).first().waitFor();
    await take(name);
  }
  await page.goto(`${baseUrl}/sign-in`);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await take("sign-in");
  await page.getByLabel("Email").fill(visitor.email);
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Busiest API keys" }).waitFor();
  await page.getByText("Show the audit log").waitFor();
  await take("overview");
  for (const [name, path, text] of [
    ["workspace-keys", `w/${slug}/api-keys`, "Deploy pipeline"],
    ["members", `w/${slug}/members`, "Grace Hopper"],
    ["invitations", `w/${slug}/members/invitations`, "ken@example.com"],
    ["service-accounts", `w/${slug}/members/service-accounts`, "Nightly export"],
    ["service-account", `w/${slug}/members/service-accounts/${serviceAccountId}`, "Nightly export"],
    ["second-factor-required", `w/${requiringSlug}`, "requires a second factor"],
    ["workspace-disabled", `w/${disabledSlug}`, "is disabled"],
    ["keyspaces", `w/${slug}/keyspaces`, "sk_test_"],
    ["keyspace", `w/${slug}/keyspaces/${keyspaceId}`, "customer_42"],
    ["issued-key", `w/${slug}/keyspaces/${keyspaceId}/keys/${issuedKeyId}`, "customer_42"],
    ["consumers", `w/${slug}/keyspaces/${keyspaceId}/consumers`, "customer_42"],
    ["consumer", `w/${slug}/keyspaces/${keyspaceId}/consumers/customer_42`, "1 key, active"],
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
    ["request", `account/requests/${requestId}`, "What happened"],
    ["not-found", "nowhere", "Page not found"],
  ] as const) {
    await page.goto(`${baseUrl}/${path}`);
    await page.getByText(text).first().or(page.getByLabel(text)).first().waitFor();
    await take(name);
  }
  await page.goto(`${baseUrl}/account/api-keys/${keyId}`);
  await page.getByRole("img", { name: /^Requests in the last/ }).waitFor();
  await take("api-key");
  await page.goto(`${baseUrl}/account/api-keys?q=nothing`);
  await page.getByText("No key matches").waitFor();
  await take("no-match");
  await page.goto(`${baseUrl}/account/api-keys`);
  await page.getByRole("checkbox", { name: "Select Deploy pipeline" }).check();
  await take("api-keys-selected", { fullPage: false });
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog.waitFor();
  await take("delete-selected", { fullPage: false });
  await close();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitemcheckbox").first().waitFor();
  await take("columns", { fullPage: false });
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "New API key" }).click();
  await dialog.waitFor();
  await take("new-api-key", { fullPage: false });
  await close();
  await page.goto(`${baseUrl}/w/${slug}/members`);
  await page.getByRole("combobox", { name: "Role of Grace Hopper" }).click();
  await page.getByRole("option", { name: "Viewer" }).click();
  await dialog.waitFor();
  await take("role", { fullPage: false });
  await close();
  const key = `account/api-keys/${keyId}`;
  for (const [name, path, button] of [
    ["edit-api-key", key, "Edit"],
    ["rotate", key, "Rotate"],
    ["end-overlap", key, "Revoke old secret"],
    ["disable-api-key", key, "Disable key"],
    ["delete-api-key", key, "Delete key"],
    ["try-it", "account/api-keys", "Try it"],
    ["invite", `w/${slug}/members`, "Invite member"],
    ["resend-invitation", `w/${slug}/members/invitations`, "Resend the invitation for ken@example.com"],
    ["revoke-invitation", `w/${slug}/members/invitations`, "Revoke the invitation for ken@example.com"],
    ["new-webhook", `w/${slug}/webhooks`, "New webhook"],
    ["edit-webhook", `w/${slug}/webhooks/${webhookId}`, "Edit"],
    ["rotate-webhook-secret", `w/${slug}/webhooks/${webhookId}`, "Rotate secret"],
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
  ] as const) {
    await page.goto(`${baseUrl}/${path}`);
    await page.getByRole("button", { name: button, exact: true }).click();
    await dialog.waitFor();
    await take(name, { fullPage: false });
    await close();
  }
  await page.goto(`${baseUrl}/${key}`);
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("Releases");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Discard unsaved changes?" }).waitFor();
  await take("discard-changes", { fullPage: false });
  await page.getByRole("button", { name: "Discard", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await page.goto(`${baseUrl}/operator/users`);
  const disable = page.getByRole("menuitem", { name: "Disable" });
  await take("user-actions", {
    fullPage: false,
    async show() {
      if (!(await disable.isVisible()))
        await page.getByRole("button", { name: "Manage Grace Hopper" }).click();
      await disable.waitFor();
    },
  });
  await disable.click();
  await dialog.waitFor();
  await take("disable-user", { fullPage: false });
  await close();
  for (const [name, workspace, action] of [
    ["disable-workspace", "Production", "Disable"],
    ["enable-workspace", "Archive", "Enable"],
  ] as const) {
    await page.goto(`${baseUrl}/operator/workspaces`);
    await page.getByRole("button", { name: `Manage ${workspace}` }).click();
    await page.getByRole("menuitem", { name: action, exact: true }).click();
    await dialog.waitFor();
    await take(name, { fullPage: false });
    await close();
  }
  await page.goto(`${baseUrl}/${key}`);
  await page
    .getByRole("region", { name: "Restrictions" })
    .getByRole("button", { name: "Edit restrictions" })
    .click();
  await page.getByRole("form", { name: "Restrictions" }).waitFor();
  await take("restrictions");
  await page.goto(`${baseUrl}/account/api-keys/${disabledId}`);
  await page.getByText("This key is disabled.").waitFor();
  await take("api-key-disabled", { fullPage: false });
  await page.getByRole("button", { name: "Enable", exact: true }).click();
  await dialog.waitFor();
  await take("enable-api-key", { fullPage: false });
  await close();
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
  await take("account-menu", { fullPage: false });
  await page.getByRole("menuitemcheckbox", { name: "Exact times" }).click();
  await page.goto(`${baseUrl}/w/${slug}/audit`);
  await page.getByText("created the workspace").first().waitFor();
  await take("exact-times");
  await page.keyboard.press("Control+k");
  await dialog.waitFor();
  await take("search", { fullPage: false });
  await close();
  await page.getByRole("button", { name: /^Workspace: / }).click();
  await page.getByRole("menuitem", { name: "New workspace" }).waitFor();
  await take("workspaces", { fullPage: false });
  await page.getByRole("menuitem", { name: "New workspace" }).click();
  await dialog.waitFor();
  await take("new-workspace", { fullPage: false });
  await close();
  await page.goto(`${baseUrl}/docs/errors`);
  await take("docs-errors", { fullPage: false });
  await page.goto(`${baseUrl}/docs`);
  await page.getByRole("heading", { name: "Latchkey open API" }).waitFor();
  await take("docs", { fullPage: false });
}

/** Makes a workspace that has been used for a day, with members and keys in every state. */
async function fill(page: Page): Promise<Omit<Visit, "take">> {
  const { id: workspaceId, slug } = await getWorkspace(page);
  for (const [name, email, role] of people) {
    await runCommand(["user", "create", "--email", email, "--name", name, "--password-stdin"]);
    await runCommand(["member", "add", "--workspace", workspaceId, "--user", email, "--role", role]);
  }
  await runCommand(["key", "create", "--user", "grace@example.com", "--name", "Grafana"]);
  const { apiKeys, invitations, serviceAccounts, webhooks, workspaces } = proceduresOf(page);
  const { id: webhookId } = await webhooks.create.mutate({
    workspaceId,
    url: "https://events.example.com/latchkey",
    description: "The archive of security events",
  });
  await webhooks.test.mutate({ workspaceId, id: webhookId });
  const keys = await addKeyspaces(page, workspaceId);
  const { userId: serviceAccountId } = await serviceAccounts.create.mutate({
    workspaceId,
    name: "Nightly export",
    role: "member",
  });
  const invited = await invitations.create.mutate({ workspaceId, email: "alan@example.com", role: "member" });
  const requiring = await workspaces.create.mutate({ name: "Production" });
  const empty = await workspaces.create.mutate({ name: "Staging" });
  const archive = await workspaces.create.mutate({ name: "Archive" });
  await runCommand(["workspace", "disable", archive.id]);
  // Notices about a user's own role.
  const grace = ["--workspace", empty.id, "--user", "grace@example.com"];
  await runCommand(["member", "add", ...grace, "--role", "owner"]);
  for (const role of ["admin", "owner"]) {
    await runCommand(["member", "role", "--workspace", empty.id, "--user", visitor.email, "--role", role]);
  }
  for (const email of ["ken@example.com", "dorothy.vaughan.of.the.analysis.department@example.com"]) {
    await invitations.create.mutate({ workspaceId, email, role: "member" });
  }
  const inDays = (days: number) => ({ inSeconds: days * 86_400 });
  const made = [
    await apiKeys.create.mutate({ name: "Local development", description: "On a laptop" }),
    await apiKeys.create.mutate({
      name: "Data warehouse export",
      settings: { isReadOnly: true, ipRanges: ["203.0.113.0/24"], expiresAt: inDays(5) },
    }),
    await apiKeys.create.mutate({
      name: "Partner import with a name that is longer than the others",
      description: "Nightly at 02:00 UTC",
      settings: { workspaceIds: [workspaceId], limit: { quota: 1, windowSeconds: 86_400 } },
    }),
    await apiKeys.create.mutate({ name: "Old laptop", settings: { isDisabled: true } }),
    await apiKeys.create.mutate({ name: "Trial", settings: { expiresAt: { inSeconds: 1 } } }),
    await apiKeys.create.mutate({ name: "Deploy pipeline", description: "Releases from CI" }),
  ];
  const [, , limited, disabled, expired, deploy] = made;
  if (!limited || !disabled || !expired || !deploy) throw new Error("A key is missing.");
  const requestId = "partner-import-0412";
  for (let count = 0; count < 2; count += 1) {
    await fetch(`${baseUrl}/open/workspaces/${workspaceId}`, {
      headers: { Authorization: `Bearer ${limited.key}`, "X-Request-Id": requestId },
    });
  }
  await callOpenApi(baseUrl, deploy.key);
  await apiKeys.rotate.mutate({ id: deploy.id, overlapSeconds: 86_400 });
  const database = await open(await connectionTo(instance.cluster));
  try {
    // Otherwise, the owner needs a second factor to require one.
    const requiringId = decodeId("workspace", requiring.id);
    await database.query("update workspaces set requires_second_factor = true where id = $1", [requiringId]);
    await database.query("set role latchkey_admission");
    await database.query(
      `insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
      select $1::uuid, date_trunc('hour', now()) - hours * interval '1 hour', $2::uuid, outcome, count
      from generate_series(1, 23) hours
      cross join lateral (values
        ('admitted', 30 + hours * 37 % 53 + case when hours % 24 between 8 and 16 then 20 else 0 end),
        ('limited', case hours when 7 then 18 when 15 then 9 else 0 end),
        ('permission-not-in-key', case hours % 6 when 2 then 5 else 0 end)) outcomes (outcome, count)
      where count > 0`,
      [toUuid(deploy.id), decodeId("workspace", workspaceId)],
    );
  } finally {
    await database.end();
  }
  return {
    slug,
    keyId: deploy.id,
    disabledId: disabled.id,
    limitedId: limited.id,
    expiredId: expired.id,
    emptySlug: empty.slug,
    webhookId,
    ...keys,
    requestId,
    serviceAccountId,
    invitationPath: new URL(invited.url ?? "").href.slice(baseUrl.length),
    requiringSlug: requiring.slug,
    disabledSlug: archive.slug,
  };
}

async function runCommand(args: readonly string[]): Promise<void> {
  const { status, stderr } = await instance.command(args, visitor.password);
  if (status !== 0) throw new Error(stderr);
}
