import { expect, test } from "vitest";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

// What a browser with an empty cache loads for each page.

const environment = prepareEnvironment();

test("each page loads with at most 20 requests and 300 kB", async () => {
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
  const cookies = await visitor.context().cookies();
  const loads: Record<string, { readonly requests: number; readonly bytes: number }> = {};
  for (const path of [
    "/account/api-keys",
    `/account/api-keys/${keyId}`,
    "/account/profile",
    "/account/security",
    "/account/notices",
    `/w/${slug}`,
    `/w/${slug}/api-keys`,
    `/w/${slug}/members`,
    `/w/${slug}/members/invitations`,
    `/w/${slug}/members/service-accounts`,
    `/w/${slug}/members/service-accounts/${userId}`,
    `/w/${slug}/audit`,
    `/w/${slug}/webhooks`,
    `/w/${slug}/webhooks/${webhookId}`,
    `/w/${slug}/settings`,
    "/account/requests/none",
    "/operator/users",
    "/operator/workspaces",
    "/operator/instance",
    "/operator/log",
  ]) {
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
    loads[path] = { requests, bytes };
    await page.context().close();
  }
  const tooMuch = Object.entries(loads).filter(([, { requests, bytes }]) => requests > 20 || bytes > 300_000);
  console.info(`first load: ${JSON.stringify(loads)}`);
  expect(tooMuch).toEqual([]);
});
