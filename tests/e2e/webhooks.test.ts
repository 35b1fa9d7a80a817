import type { Page } from "playwright-core";
import { Webhook } from "standardwebhooks";
import { afterAll, expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { enter, visitor } from "../support/visitor.ts";
import { startWebhookReceiver } from "../support/webhook-receiver.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { failCalls } from "./fail-calls.ts";
import { loseResponse } from "./lose-response.ts";
import { returnToTab } from "./return-to-tab.ts";
import { stayDuringCall } from "./stay-during-call.ts";
import { untilFocused } from "./until-focused.ts";

// Ada sends the audit log of her workspace to a server. Each test continues where the previous one ended.

const receiver = await startWebhookReceiver();
afterAll(() => receiver.stop());

let page: Page;
let workspace: Awaited<ReturnType<typeof getWorkspace>>;
let secret: string;

const environment = prepareEnvironment(
  async ({ browser, baseUrl }) => {
    ({ page } = await browser.open());
    await enter(page, baseUrl);
    workspace = await getWorkspace(page);
  },
  { WEBHOOK_NETWORKS: "127.0.0.0/8" },
);

const dialog = () => page.getByRole("dialog");
const rowOf = (text: string) => page.getByRole("row").filter({ hasText: text });
const focused = () => page.locator(":focus");

/** Verifies the last message, and returns it. */
function verifyLast(): unknown {
  const { body = "", headers = {} } = receiver.messages.at(-1) ?? {};
  return new Webhook(secret).verify(body, headers as Record<string, string>); // Node lists these headers as strings.
}

test("creates a webhook, which names invalid fields, and shows the secret once", async () => {
  await page.goto(`${environment.baseUrl}/w/${workspace.slug}/webhooks`);
  await page.getByRole("heading", { name: "No webhooks yet" }).waitFor();
  await page.getByRole("button", { name: "New webhook" }).click();
  await dialog().getByLabel("Selected events").check();
  await dialog().getByRole("button", { name: "Create webhook" }).click();
  await dialog().getByText("Enter a URL, for example").waitFor();
  await dialog().getByText("Select at least one event.").waitFor();
  expect(await page.evaluate("document.activeElement.getAttribute('type')")).toBe("url");
  await dialog().getByRole("textbox", { name: "URL" }).fill(receiver.url);
  await dialog().getByRole("textbox", { name: "Description" }).fill("Our SIEM");
  await dialog().getByLabel("Workspace renamed").check();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Create webhook" }).click();
  secret = await dialog().getByRole("textbox", { name: "Secret" }).inputValue();
  expect(secret).toMatch(/^whsec_/);
  await dialog().getByRole("button", { name: "Copy secret" }).and(page.locator(":focus")).waitFor();
  // A click outside doesn't close the dialog.
  await page.mouse.click(5, 5);
  await page.keyboard.press("Escape");
  await dialog().getByText("You haven’t copied the secret").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Copy secret" }).click();
  await dialog().getByRole("button", { name: "Done" }).click();
  await rowOf("Our SIEM").getByText("Workspace renamed").waitFor();
  expect(await page.content()).not.toContain(secret);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("sends a test message and events, and lists their deliveries", async () => {
  await page.getByRole("link", { name: receiver.url }).click();
  await page.getByRole("heading", { name: "No deliveries yet" }).waitFor();
  await page.getByRole("heading", { name: new URL(receiver.url).host, level: 1 }).waitFor();
  await page.getByRole("button", { name: "Try this webhook" }).press("Enter");
  await rowOf("Test message").getByText("Succeeded").waitFor();
  // The log replaces the button.
  await page.locator("#content").and(focused()).waitFor();
  expect(verifyLast()).toMatchObject({ type: "webhook.test" });
  receiver.rejectNext(1);
  await proceduresOf(page).workspaces.update.mutate({
    workspaceId: workspace.id,
    version: 1,
    name: "Payments",
  });
  // The log shows the new delivery, which is tried again a few seconds later.
  await rowOf("Workspace renamed").getByText("2 attempts").waitFor();
  await rowOf("Workspace renamed").getByText("Succeeded").waitFor();
  expect(verifyLast()).toMatchObject({ type: "workspace.renamed", data: { after: { name: "Payments" } } });
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("sends a message again, and filters deliveries in the URL", async () => {
  const sent = receiver.messages.length;
  const redeliver = page.getByRole("button", { name: "Redeliver “Workspace renamed”" });
  const release = receiver.hold();
  await redeliver.press("Enter");
  await rowOf("Workspace renamed").getByText("Pending").waitFor();
  await redeliver.and(page.locator("[aria-disabled=true]")).and(focused()).waitFor();
  release();
  await rowOf("Workspace renamed").getByText("3 attempts").waitFor({ timeout: 30_000 });
  await redeliver.and(page.locator("[aria-disabled=false]")).and(focused()).waitFor();
  expect(receiver.messages).toHaveLength(sent + 1);
  await page.getByRole("combobox", { name: "Status of deliveries" }).click();
  await page.getByRole("option", { name: "Failed" }).click();
  await page.getByRole("heading", { name: "No delivery matches" }).waitFor();
  await page.waitForURL(/\?status=failed$/);
  await page.reload();
  await page.getByRole("heading", { name: "No delivery matches" }).waitFor();
});

test("rotates the secret after asking for the password, and edits the webhook", async () => {
  await environment.change(
    "update sessions set created_at = now() - interval '1 day', authenticated_at = null",
  );
  await page.getByRole("button", { name: "Rotate secret" }).click();
  await dialog().getByRole("button", { name: "Rotate secret" }).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Rotate secret" }).click();
  const confirmation = page.getByRole("dialog").filter({ hasText: "password" });
  await confirmation.getByLabel("Password").fill(visitor.password);
  await stayDuringCall(page, "webhooks.rotateSecret", () =>
    confirmation.getByRole("button", { name: "Confirm" }).click(),
  );
  const former = secret;
  await dialog().getByText("It won’t be shown again.").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  secret = await dialog().getByRole("textbox", { name: "Secret" }).inputValue();
  expect(secret).not.toBe(former);
  await dialog().getByRole("button", { name: "Copy secret" }).click();
  await dialog().getByRole("button", { name: "Done" }).click();
  await page.getByText("Also signs messages until").waitFor();
  const sent = receiver.messages.length;
  await page.getByRole("button", { name: "Send test message" }).click();
  await expect.poll(() => receiver.messages.length, { timeout: 30_000 }).toBe(sent + 1);
  expect(verifyLast()).toMatchObject({ type: "webhook.test" });

  await page.getByRole("button", { name: "Edit" }).click();
  await untilFocused(dialog());
  await dialog().getByLabel("All events, including future ones").check();
  await dialog().getByRole("textbox", { name: "Description" }).fill("Archive");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Save" }).click();
  await page.getByText("Archive").waitFor();
  await page.getByText("All events, including future ones").waitFor();
});

test("says that another rotation ends the overlap of the previous secret, even after a lost response", async () => {
  const { webhooks } = proceduresOf(page);
  const path = { workspaceId: workspace.id, id: new URL(page.url()).pathname.split("/").at(-1) ?? "" };
  const { version } = await webhooks.get.query(path);
  await page.getByRole("button", { name: "Rotate secret" }).click();
  await untilFocused(dialog());
  await dialog().getByText("If you rotate now, it stops immediately.").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await loseResponse(page, "webhooks.rotateSecret");
  await dialog().getByRole("button", { name: "Rotate secret" }).click();
  await dialog()
    .getByRole("alert")
    .filter({ hasText: "The secret may have been rotated. If it was, and you rotate it again," })
    .and(focused())
    .waitFor();
  expect((await webhooks.get.query(path)).version).toBe(version + 1);
  await dialog().getByRole("button", { name: "Cancel" }).click();
  await dialog().waitFor({ state: "detached" });
});

test("an edit keeps what someone else changed at the same time", async () => {
  const { webhooks } = proceduresOf(page);
  const path = { workspaceId: workspace.id, id: new URL(page.url()).pathname.split("/").at(-1) ?? "" };
  const { version } = await webhooks.get.query(path);
  await page.getByRole("button", { name: "Edit" }).click();
  await untilFocused(dialog());
  const description = dialog().getByRole("textbox", { name: "Description" });
  await description.fill("Our archive");
  await webhooks.update.mutate({ ...path, version, changes: { actions: ["workspace.renamed"] } });
  // The page shows the new version, but the edit is based on the former one.
  const events = page.getByRole("definition").filter({ hasText: /^Workspace renamed$/ });
  await returnToTab(page, () => events.isVisible());
  await dialog().getByRole("button", { name: "Save" }).click();
  const conflict = dialog().getByRole("alert").filter({ hasText: "The webhook was changed" });
  await conflict.getByText("Workspace renamed").waitFor();
  expect(await description.inputValue()).toBe("Our archive");
  expect(await dialog().getByLabel("Selected events").isChecked()).toBe(true);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Save" }).click();
  await dialog().waitFor({ state: "detached" });
  expect(await webhooks.get.query(path)).toMatchObject({
    description: "Our archive",
    actions: ["workspace.renamed"],
  });
});

test("shows the status that deliveries change", async () => {
  await environment.change("update webhooks set failing_since = now()");
  await page.getByText("Failing", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Send test message" }).click();
  await page.getByText("Enabled", { exact: true }).waitFor();
  await page.goto(`${environment.baseUrl}/w/${workspace.slug}/webhooks`);
  await rowOf("Our archive").getByText("Enabled").waitFor();
  await environment.change("update webhooks set failing_since = now()");
  await rowOf("Our archive").getByText("Failing").waitFor();
  await rowOf("Our archive").getByRole("link").click();
});

test("disables, enables and deletes the webhook", async () => {
  await page.getByRole("button", { name: "Disable webhook" }).press("Enter");
  await dialog().getByText("Events that occur while the webhook is disabled are never sent").waitFor();
  await dialog().getByRole("button", { name: "Cancel" }).and(focused()).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  // The page shows the result of the change, even if it can't load the webhook again.
  await failCalls(page, "webhooks.get");
  await dialog().getByRole("button", { name: "Disable webhook" }).press("Enter");
  await page.getByText("This webhook was disabled manually.").waitFor();
  await page.unrouteAll();
  expect(await page.getByRole("button", { name: "Send test message" }).isDisabled()).toBe(true);
  await page.getByRole("button", { name: "Enable webhook" }).and(focused()).press("Enter");
  await page.getByRole("button", { name: "Disable webhook" }).and(focused()).waitFor();
  await page.setViewportSize({ width: 375, height: 800 });
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "Delete webhook" }).press("Enter");
  await dialog().getByRole("button", { name: "Delete webhook" }).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Delete webhook" }).click();
  await page.getByRole("heading", { name: "No webhooks yet" }).waitFor();
  // The page had loaded the webhook before it was deleted.
  await page.goBack();
  await page.getByRole("heading", { name: "Webhook not found" }).waitFor();
  await page.getByRole("link", { name: "Go to webhooks" }).click();
  await page.getByRole("heading", { name: "No webhooks yet" }).waitFor();
});

test("a viewer sees why the pages are empty, and no entry in the navigation", async () => {
  const { page: linus } = await environment.browser.open();
  await enter(linus, environment.baseUrl, "linus@example.com");
  await environment.command([
    ...["member", "add", "--workspace", workspace.id],
    ...["--user", "linus@example.com", "--role", "viewer"],
  ]);
  for (const path of ["webhooks", "webhooks/whk_123"]) {
    await linus.goto(`${environment.baseUrl}/w/${workspace.slug}/${path}`);
    await linus.getByText("Your role can’t manage webhooks").waitFor();
  }
  expect(await linus.getByRole("navigation", { name: "Main" }).getByText("Webhooks").count()).toBe(0);
});
