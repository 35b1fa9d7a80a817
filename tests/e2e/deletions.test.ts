import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { holdCall } from "./hold-call.ts";

// Ada opens another page while something is being deleted.

let page: Page;
/** The path of the page of each thing. */
let paths: Readonly<Record<string, string>>;

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page } = await browser.open());
  await enter(page, baseUrl);
  const { id: workspaceId, slug } = await getWorkspace(page);
  const { apiKeys, issuedKeys, keyspaces, serviceAccounts, webhooks } = proceduresOf(page);
  const key = await apiKeys.create.mutate({ name: "Nightly sync" });
  const account = await serviceAccounts.create.mutate({ workspaceId, name: "Robot", role: "viewer" });
  const url = "https://hooks.example.com/";
  const webhook = await webhooks.create.mutate({ workspaceId, url, actions: ["webhook.deleted"] });
  const fields = { name: "Production", prefix: "sk_live" };
  const { id: keyspaceId } = await keyspaces.create.mutate({ workspaceId, fields });
  const issued = await issuedKeys.create.mutate({ workspaceId, keyspaceId, fields: { name: "Acme" } });
  paths = {
    "apiKeys.delete": `/account/api-keys/${key.id}`,
    "serviceAccounts.delete": `/w/${slug}/members/service-accounts/${account.userId}`,
    "webhooks.delete": `/w/${slug}/webhooks/${webhook.id}`,
    "issuedKeys.delete": `/w/${slug}/keyspaces/${keyspaceId}/keys/${issued.id}`,
    "keyspaces.delete": `/w/${slug}/keyspaces/${keyspaceId}`,
  };
});

test.each([
  ["apiKeys.delete", "Delete key", "“Nightly sync” was deleted."],
  ["serviceAccounts.delete", "Delete service account", "“Robot” was deleted."],
  ["webhooks.delete", "Delete webhook", "Webhook deleted."],
  ["issuedKeys.delete", "Delete key", "Key deleted."],
  ["keyspaces.delete", "Delete keyspace", "“Production” was deleted."],
])("%s leaves the user on the page that they have opened", async (procedure, button, message) => {
  await page.goto(environment.baseUrl + paths[procedure]);
  const opener = page.getByRole("main").getByRole("button", { name: button, exact: true });
  await opener.waitFor();
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Profile" }).click();
  await page.getByRole("heading", { name: "Profile", level: 1 }).waitFor();
  await page.goBack();
  await opener.click();
  const call = await holdCall(page, procedure);
  await page.getByRole("dialog").getByRole("button", { name: button, exact: true }).click();
  await call.isSent;
  await page.goForward();
  await page.getByRole("heading", { name: "Profile", level: 1 }).waitFor();
  call.release();
  await page.getByText(message).waitFor();
  await page.waitForLoadState("networkidle");
  expect(new URL(page.url()).pathname).toBe("/account/profile");
});
