import { setTimeout } from "node:timers/promises";
import type { BrowserContext, Page } from "playwright-core";
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
  readonly keyspaceId: string;
  readonly issuedKeyId: string;
  /** An issued key with a rejected verification. */
  readonly rejectedIssuedKeyId: string;
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
  const keyspace = { workspaceId, fields: { name: "Production", prefix: "sk_live" } };
  const { id: keyspaceId } = await proceduresOf(visitor).keyspaces.create.mutate(keyspace);
  const issued = { workspaceId, keyspaceId, fields: { name: "Acme", externalId: "acme" } };
  const { id: issuedKeyId, key: issuedKey } = await proceduresOf(visitor).issuedKeys.create.mutate(issued);
  const path = { workspaceId, keyspaceId };
  await proceduresOf(visitor).issuedKeys.verify.mutate({ ...path, key: issuedKey });
  const disabled = { ...path, fields: { name: "Former", isDisabled: true } };
  const rejected = await proceduresOf(visitor).issuedKeys.create.mutate(disabled);
  await proceduresOf(visitor).issuedKeys.verify.mutate({ ...path, key: rejected.key });
  const settings = { limit: { quota: 1, windowSeconds: 86_400 } };
  const { id: rejectedKeyId, key } = await proceduresOf(visitor).apiKeys.create.mutate({
    name: "Limited",
    settings,
  });
  for (let count = 0; count < 3; count += 1) await callOpenApi(environment.baseUrl, key);
  const { keyHistory, keyspaceUsage, invitations, operator, session } = proceduresOf(visitor);
  const hasRejections = async () => (await keyHistory.refusals.query({ id: rejectedKeyId })).length === 2;
  await vi.waitUntil(hasRejections, { timeout: 30_000 });
  const invitation = { workspaceId, email: "grace@example.com", role: "viewer" } as const;
  const isVerified = async () =>
    (await proceduresOf(visitor).keyspaceUsage.latestOutcome.query(path)).outcome !== null;
  await vi.waitUntil(isVerified, { timeout: 30_000 });
  const isRejected = async () =>
    (await keyspaceUsage.rejections.query({ ...path, id: rejected.id })).length === 1;
  await vi.waitUntil(isRejected, { timeout: 30_000 });
  const { url: invitationUrl } = await invitations.create.mutate(invitation);
  const current = await session.current.query();
  const { url: resetUrl } = await operator.createResetLink.mutate({ userId: current?.user.id ?? "" });
  cookies = await visitor.context().cookies();
  const tokenOf = (url: string | null | undefined) => new URL(url ?? "").hash.slice(1);
  ids = {
    ...{ slug, keyId, userId, webhookId, rejectedKeyId, keyspaceId, issuedKeyId },
    rejectedIssuedKeyId: rejected.id,
    invitationToken: tokenOf(invitationUrl),
    resetToken: tokenOf(resetUrl),
  };
  await visitor.context().close();
});

const pages = [
  "/account/api-keys",
  "/account/api-keys/{keyId}",
  // The tables of rejected requests and verifications load when they come into view.
  "/account/api-keys/{rejectedKeyId}",
  "/account/profile",
  "/account/security",
  "/account/notices",
  "/w/{slug}",
  "/w/{slug}/api-keys",
  "/w/{slug}/keyspaces",
  "/w/{slug}/keyspaces/{keyspaceId}",
  "/w/{slug}/keyspaces/{keyspaceId}/usage",
  "/w/{slug}/keyspaces/{keyspaceId}/keys/{issuedKeyId}",
  "/w/{slug}/keyspaces/{keyspaceId}/keys/{rejectedIssuedKeyId}",
  "/w/{slug}/keyspaces/{keyspaceId}/consumers",
  "/w/{slug}/keyspaces/{keyspaceId}/consumers/acme",
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

interface Load {
  requests: number;
  bytes: number;
}

/**
 * Opens a page and counts what the browser loads until the network is idle.
 * @param options.isDone waits for content that loads after the heading. A page that takes longer also polls, and a
 * repeated URL isn't counted.
 */
async function load(
  template: string,
  options: { readonly hasSession: boolean; readonly isDone?: (page: Page) => Promise<void> },
): Promise<Load> {
  const path = Object.entries(ids).reduce((text, [name, id]) => text.replace(`{${name}}`, id), template);
  const { page } = await environment.browser.open();
  if (options.hasSession) await page.context().addCookies(cookies);
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const total: Load = { requests: 0, bytes: 0 };
  const urls = new Map<string, string>();
  const repeated = new Set<string>();
  session.on("Network.requestWillBeSent", ({ requestId, request }) => {
    if (options.isDone && [...urls.values()].includes(request.url)) repeated.add(requestId);
    urls.set(requestId, request.url);
  });
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    if (repeated.has(requestId)) return;
    total.requests += 1;
    total.bytes += encodedDataLength;
  });
  await page.goto(environment.baseUrl + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await options.isDone?.(page);
  await page.waitForLoadState("networkidle");
  await page.context().close();
  console.info(`first load of ${template}: ${total.requests} requests, ${total.bytes} bytes`);
  return total;
}

test.each([
  ...pages.map((template) => [template, "with a session"] as const),
  ...signedOutPages.map((template) => [template, "without a session"] as const),
])("%s loads with at most 20 requests and 300 kB, %s", async (template, visit) => {
  const { requests, bytes } = await load(template, { hasSession: visit === "with a session" });
  expect(requests).toBeLessThanOrEqual(20);
  expect(bytes).toBeLessThanOrEqual(300_000);
});

// The package of the reference is one script of 1.05 MB (docs/decisions/0021).
test("the reference loads with at most 20 requests and 1.3 MB", async () => {
  const { requests, bytes } = await load("/docs", {
    hasSession: false,
    isDone: (page) => page.getByRole("heading", { name: "Latchkey open API" }).waitFor(),
  });
  expect(requests).toBeLessThanOrEqual(20);
  expect(bytes).toBeLessThanOrEqual(1_300_000);
});

test("requests the data of a page once if it becomes stale before the page's scripts arrive", async () => {
  const { page } = await environment.browser.open();
  await page.context().addCookies(cookies);
  const loaded = page.waitForResponse((response) => response.url().includes("/trpc/account.sessions"));
  await page.route("**/assets/security-page-*.js", async (route) => {
    await (await loaded).finished();
    await setTimeout(1_100); // The data is stale after a second.
    await route.continue();
  });
  const calls: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith("/trpc/")) calls.push(...pathname.slice("/trpc/".length).split(","));
  });
  await page.goto(`${environment.baseUrl}/account/security`);
  await page.getByRole("heading", { name: "Sessions" }).waitFor();
  await page.waitForLoadState("networkidle");
  for (const name of ["account.sessions", "account.signInMethods", "factors.get"]) {
    expect(
      calls.filter((call) => call === name),
      name,
    ).toHaveLength(1);
  }
});
