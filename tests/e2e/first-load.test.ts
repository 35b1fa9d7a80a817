import type { BrowserContext } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

// What a browser with an empty cache loads for each page.

interface Ids {
  readonly slug: string;
  readonly keyId: string;
  readonly userId: string;
  readonly webhookId: string;
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
  cookies = await visitor.context().cookies();
  ids = { slug, keyId, userId, webhookId };
  await visitor.context().close();
});

test.each([
  "/account/api-keys",
  "/account/api-keys/{keyId}",
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
])("%s loads with at most 20 requests and 300 kB", async (template) => {
  const path = Object.entries(ids).reduce((text, [name, id]) => text.replace(`{${name}}`, id), template);
  const { page } = await environment.browser.open();
  await page.context().addCookies(cookies);
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  let [requests, bytes] = [0, 0];
  session.on("Network.loadingFinished", ({ encodedDataLength }) => {
    requests += 1;
    bytes += encodedDataLength;
  });
  await page.goto(environment.baseUrl + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForLoadState("networkidle");
  await page.context().close();
  console.info(`first load of ${template}: ${requests} requests, ${bytes} bytes`);
  expect(requests).toBeLessThanOrEqual(20);
  expect(bytes).toBeLessThanOrEqual(300_000);
});
