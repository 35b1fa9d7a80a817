import type { BrowserContext } from "playwright-core";
import { beforeAll, expect, test, vi } from "vitest";
import { callOpenApi, enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

// What a browser with an empty cache loads for each page.

interface Ids {
  readonly slug: string;
  readonly keyId: string;
  readonly userId: string;
  readonly webhookId: string;
  /** A key with rejected and rate-limited requests. */
  readonly rejectedKeyId: string;
  readonly invitationToken: string;
  readonly resetToken: string;
}

let cookies: Awaited<ReturnType<BrowserContext["cookies"]>>;
let ids: Ids;

const environment = prepareEnvironment();

beforeAll(async () => {
  const { page: visitor } = await environment.browser.open();
  await enter(visitor, environment.baseUrl);
  const { slug, id: workspaceId } = await getWorkspace(visitor);
  const account = { workspaceId, name: "Deploys", role: "member" } as const;
  const { userId } = await proceduresOf(visitor).serviceAccounts.create.mutate(account);
  const { id: keyId } = await proceduresOf(visitor).apiKeys.create.mutate({ name: "CI" });
  const { id: webhookId } = await proceduresOf(visitor).webhooks.create.mutate({
    workspaceId,
    url: "https://example.com",
    actions: ["workspace.renamed"],
  });
  const settings = { limit: { quota: 1, windowSeconds: 86_400 } };
  const { id: rejectedKeyId, key } = await proceduresOf(visitor).apiKeys.create.mutate({
    name: "Limited",
    settings,
  });
  for (let count = 0; count < 3; count += 1) await callOpenApi(environment.baseUrl, key);
  const { keyHistory, invitations, operator, session } = proceduresOf(visitor);
  const hasRejections = async () => (await keyHistory.refusals.query({ id: rejectedKeyId })).length === 2;
  await vi.waitUntil(hasRejections, { timeout: 30_000 });
  const invitation = { workspaceId, email: "grace@example.com", role: "viewer" } as const;
  const { url: invitationUrl } = await invitations.create.mutate(invitation);
  const current = await session.current.query();
  const { url: resetUrl } = await operator.createResetLink.mutate({ userId: current?.user.id ?? "" });
  cookies = await visitor.context().cookies();
  const tokenOf = (url: string | null | undefined) => new URL(url ?? "").hash.slice(1);
  ids = {
    ...{ slug, keyId, userId, webhookId, rejectedKeyId },
    invitationToken: tokenOf(invitationUrl),
    resetToken: tokenOf(resetUrl),
  };
  await visitor.context().close();
});

const pages = [
  "/account/api-keys",
  "/account/api-keys/{keyId}",
  "/account/api-keys/{rejectedKeyId}",
  "/account/profile",
  "/account/security",
  "/account/notices",
  "/w/{slug}",
  "/w/{slug}/api-keys",
  "/w/{slug}/members",
  "/w/{slug}/members/invitations",
  "/w/{slug}/members/service-accounts",
  "/w/{slug}/members/service-accounts/{userId}",
  "/w/{slug}/audit",
  "/w/{slug}/webhooks",
  "/w/{slug}/webhooks/{webhookId}",
  "/w/{slug}/settings",
  "/account/requests/none",
  "/operator/users",
  "/operator/workspaces",
  "/operator/instance",
  "/operator/log",
];

/** The pages without a session. */
const signedOutPages = [
  "/",
  "/sign-in",
  "/sign-up",
  "/forgot-password",
  "/reset-password",
  "/reset-password#{resetToken}",
  "/confirm-email",
  "/invitation",
  "/invitation#{invitationToken}",
];

test.each([
  ...pages.map((template) => [template, "with a session"] as const),
  ...signedOutPages.map((template) => [template, "without a session"] as const),
])("%s loads with at most 20 requests and 300 kB, %s", async (template, visit) => {
  const path = Object.entries(ids).reduce((text, [name, id]) => text.replace(`{${name}}`, id), template);
  const { page } = await environment.browser.open();
  if (visit === "with a session") await page.context().addCookies(cookies);
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  let [requests, bytes] = [0, 0];
  session.on("Network.loadingFinished", ({ encodedDataLength }) => {
    requests += 1;
    bytes += encodedDataLength;
  });
  await page.goto(environment.baseUrl + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  // The table of rejected requests loads after the page.
  if (template.includes("rejected"))
    await page.getByRole("table").getByText("Rate limited").first().waitFor();
  await page.waitForLoadState("networkidle");
  await page.context().close();
  console.info(`first load of ${template}: ${requests} requests, ${bytes} bytes`);
  expect(requests).toBeLessThanOrEqual(20);
  expect(bytes).toBeLessThanOrEqual(300_000);
});
