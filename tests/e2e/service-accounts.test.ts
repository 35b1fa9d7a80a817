import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { callOpen } from "../support/open-call.ts";
import { scrollUntil } from "../support/scroll-until.ts";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { returnToTab } from "./return-to-tab.ts";
import { untilFocused } from "./until-focused.ts";

// Ada creates a service account and manages its keys. Each test continues where the previous one ended.

let ada: Page;
let workspace: Awaited<ReturnType<typeof getWorkspace>>;
let secret: string;

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page: ada } = await browser.open());
  await enter(ada, baseUrl);
  workspace = await getWorkspace(ada);
});

const addressOf = (page: string) => `${environment.baseUrl}/w/${workspace.slug}/${page}`;
const dialogOf = (page: Page) => page.getByRole("dialog");
const statusOf = async (key = secret) =>
  (await callOpen(environment.baseUrl, key, `/open/workspaces/${workspace.id}`)).status;

async function confirm(action: string): Promise<void> {
  await dialogOf(ada).getByRole("button", { name: action, exact: true }).click();
  await dialogOf(ada).waitFor({ state: "detached" });
}

test("creates a service account and a key, by keyboard", async () => {
  await ada.goto(addressOf("members"));
  await ada.getByRole("link", { name: "Service accounts" }).click();
  await ada.getByRole("heading", { name: "No service accounts yet" }).waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await ada.getByRole("button", { name: "New service account" }).focus();
  await ada.keyboard.press("Enter");
  const name = dialogOf(ada).getByLabel("Name");
  await untilFocused(dialogOf(ada));
  await ada.keyboard.press("Enter");
  await dialogOf(ada).getByText("Enter a name, such as the integration that uses it.").waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await dialogOf(ada).getByRole("combobox", { name: "Role" }).click();
  await ada.getByRole("option", { name: "Viewer Can view the workspace, but not change it." }).waitFor();
  await ada.getByRole("option", { name: /^Member/ }).click();
  await name.fill("Deploys");
  await ada.keyboard.press("Enter");
  await ada.getByRole("heading", { level: 1, name: "Deploys" }).waitFor();
  await ada.getByText("Service account with the member role.").waitFor();
  await ada.getByRole("heading", { name: "No API keys yet" }).waitFor();

  await ada.getByRole("button", { name: "New API key" }).click();
  const dialog = dialogOf(ada);
  await dialog.getByLabel("Name").fill("Pipeline");
  await dialog.getByRole("button", { name: "Restrict this key" }).click();
  await dialog.getByLabel("IP ranges").waitFor();
  await dialog.getByRole("radio", { name: "All permissions of the service account’s role" }).waitFor();
  await dialog
    .getByRole("region", { name: "Review" })
    .getByText("All permissions of the service account’s role")
    .waitFor();
  // It has only one workspace.
  expect(await dialog.getByText("Selected workspaces").count()).toBe(0);
  await dialog.getByRole("button", { name: "Create key" }).click();
  secret = await dialog.getByLabel("API key", { exact: true }).inputValue();
  expect(await statusOf()).toBe(200);
  await dialog.getByRole("button", { name: "Copy API key" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.waitFor({ state: "detached" });
  await ada.getByRole("link", { name: "Pipeline" }).waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
});

test("rotates and disables its key on the key’s page", async () => {
  await ada.getByRole("link", { name: "Pipeline" }).click();
  await ada.getByRole("heading", { level: 1, name: "Pipeline" }).waitFor();
  await ada.getByRole("button", { name: "Rotate" }).click();
  const dialog = dialogOf(ada);
  await dialog
    .getByRole("radio", { name: /Revoke/ })
    .or(dialog.getByRole("radio").first())
    .first()
    .check();
  await dialog.getByRole("button", { name: "Rotate" }).click();
  secret = await dialog.getByLabel("API key", { exact: true }).inputValue();
  await dialog.getByRole("button", { name: "Copy API key" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await statusOf()).toBe(200);
  await ada.getByRole("button", { name: "Disable key" }).click();
  await confirm("Disable key");
  await ada.getByRole("button", { name: "Enable key" }).first().waitFor();
  expect(await statusOf()).toBe(403);
  const rejected = ada.getByRole("region", { name: "Rejected and rate-limited requests" });
  await scrollUntil(rejected.getByRole("link"));
  await rejected.getByRole("link").click();
  await ada.getByRole("heading", { level: 1, name: "Why this request was rejected" }).waitFor();
  await ada.getByRole("link", { name: "Deploys" }).waitFor();
  const explanation = ada.getByRole("region", { name: "What happened" });
  await explanation.getByRole("link", { name: "Pipeline" }).click();
  await ada.getByRole("heading", { level: 1, name: "Pipeline" }).waitFor();
  await ada.getByRole("link", { name: "Deploys" }).click();
  await ada.getByRole("heading", { level: 1, name: "Deploys" }).waitFor();
});

test("finds its keys by text and status, in the URL", async () => {
  await ada.getByRole("combobox", { name: "Status" }).click();
  await ada.getByRole("option", { name: "Active" }).click();
  await ada.getByRole("heading", { name: "No key matches the filters" }).waitFor();
  await ada.getByRole("searchbox").fill("pipe");
  await ada.getByRole("heading", { name: "No key matches “pipe”" }).waitFor();
  expect(new URL(ada.url()).search).toBe("?status=active&q=pipe");
  await ada.getByRole("combobox", { name: "Status" }).click();
  await ada.getByRole("option", { name: "Disabled" }).click();
  await ada.getByRole("link", { name: "Pipeline" }).waitFor();
  await ada.getByRole("searchbox").fill("nothing");
  await ada.getByRole("button", { name: "Clear filters" }).click();
  await ada.getByRole("link", { name: "Pipeline" }).waitFor();
  expect(new URL(ada.url()).search).toBe("");
});

test("an edit of the name doesn’t undo a change of the role", async () => {
  const { serviceAccounts } = proceduresOf(ada);
  const path = { workspaceId: workspace.id, userId: new URL(ada.url()).pathname.split("/").at(-1) ?? "" };
  const edit = async (name: string) => {
    await ada.getByRole("button", { name: "Edit", exact: true }).click();
    await dialogOf(ada).getByLabel("Name").fill(name);
  };
  await edit("Deployments");
  await serviceAccounts.change.mutate({ ...path, role: "viewer" });
  await returnToTab(ada, () => ada.getByText("Service account with the viewer role.").isVisible());
  await dialogOf(ada).getByRole("button", { name: "Save" }).click();
  const conflict = dialogOf(ada).getByRole("alert").filter({ hasText: "The service account was changed" });
  await conflict.getByText("Viewer").waitFor();
  expect(await dialogOf(ada).getByRole("combobox", { name: "Role" }).inputValue()).toBe("Viewer");
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await confirm("Save");
  expect(await serviceAccounts.get.query(path)).toMatchObject({ name: "Deployments", role: "viewer" });
  await edit("Deploys");
  await confirm("Save");
  expect(await serviceAccounts.get.query(path)).toMatchObject({ name: "Deploys", role: "viewer" });
  await serviceAccounts.change.mutate({ ...path, role: "member" });
});

test("the members page and the audit log mark it as a service account", async () => {
  await ada.goto(addressOf("members"));
  const row = ada.getByRole("row").filter({ hasText: "Deploys" });
  await row.getByText("Service account").waitFor();
  await row.getByRole("combobox", { name: "Role of Deploys" }).click();
  expect(await ada.getByRole("option", { name: "Owner" }).count()).toBe(0);
  await ada.keyboard.press("Escape");
  await ada.goto(addressOf("audit"));
  await ada.getByText("created the service account “Deploys” as a member").waitFor();
  await ada.getByRole("combobox", { name: "Actor" }).click();
  await ada.getByRole("option", { name: "Deploys (service account)", exact: true }).waitFor();
  await ada.keyboard.press("Escape");
});

test("the overview and the dialog that blocks keys mark the owner as a service account", async () => {
  const marked = "Deploys (service account)";
  await ada.goto(addressOf(""));
  const busiest = ada.getByRole("region", { name: "Busiest API keys" });
  await busiest.getByRole("listitem").filter({ hasText: "Pipeline" }).getByText(marked).waitFor();
  await busiest.getByRole("link", { name: "Pipeline" }).click();
  await ada.getByRole("heading", { level: 1, name: "Pipeline" }).waitFor();
  await ada.goto(addressOf("api-keys"));
  // A click on the row opens the key.
  await ada.getByRole("row").filter({ hasText: "Pipeline" }).getByText(marked).click();
  await ada.getByRole("heading", { level: 1, name: "Pipeline" }).waitFor();
  await ada.goBack();
  await ada.getByRole("button", { name: "Block Pipeline" }).click();
  await dialogOf(ada).getByText(marked).waitFor();
  await confirm("Block key");
  await ada.goForward();
  await ada.getByRole("heading", { level: 1, name: "Pipeline" }).waitFor();
  // What was loaded a moment ago is not requested again.
  await ada.reload();
  // The key works in no other workspace.
  await ada.getByText(/Ask an owner or admin of the workspace to unblock it\.$/).waitFor();
  await ada.goBack();
  await ada.getByRole("button", { name: "Unblock Pipeline" }).click();
  await confirm("Unblock key");
});

test("disables, enables and deletes the service account on a phone", async () => {
  const viewport = { width: 375, height: 740 };
  await ada.setViewportSize(viewport);
  await ada.goto(addressOf("members/service-accounts"));
  await ada.getByRole("searchbox").fill("nothing");
  await ada.getByRole("heading", { name: "No service account matches “nothing”" }).waitFor();
  expect(new URL(ada.url()).search).toBe("?q=nothing");
  await ada.getByRole("button", { name: "Clear search" }).click();
  await ada.getByRole("link", { name: "Deploys" }).click();
  await ada.getByRole("button", { name: "Disable service account" }).click();
  const colorOf = (name: string) =>
    dialogOf(ada)
      .getByRole("button", { name })
      .evaluate((button) => button.ownerDocument.defaultView?.getComputedStyle(button).backgroundColor);
  const dangerColor = await colorOf("Disable service account");
  await confirm("Disable service account");
  await ada.getByText("Disabled", { exact: true }).first().waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await ada.getByRole("button", { name: "Enable service account" }).click();
  expect(await colorOf("Enable service account")).not.toBe(dangerColor);
  await confirm("Enable service account");
  await ada.getByRole("button", { name: "Disable service account" }).waitFor();
  await ada.getByRole("button", { name: "Delete service account" }).click();
  await dialogOf(ada).getByText("All of its API keys are deleted").waitFor();
  expect(await findProblemsInBothSchemes(ada)).toEqual([]);
  await confirm("Delete service account");
  await ada.getByRole("heading", { name: "No service accounts yet" }).waitFor();
  expect(await statusOf()).toBe(403);
});
