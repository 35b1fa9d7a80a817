import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { recentTime } from "../support/recent-time.ts";
import { readClipboard, signUp } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { failCalls } from "./fail-calls.ts";
import { untilFocused } from "./until-focused.ts";

// The first visit: from no keyspace to the first verification of an issued key. Each test continues where the previous one ended.

let page: Page;
let apiKey: string;

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page } = await browser.open({ permissions: ["clipboard-read", "clipboard-write"] }));
  await signUp(page, baseUrl);
});

const dialog = () => page.getByRole("dialog");
const field = (name: string) => dialog().getByRole("textbox", { name, exact: true });
const guide = () => page.getByRole("region", { name: "Verify a key" });
const waiting = "Waiting for a verification";
const arrived = "A verification has arrived.";

/** Runs a command that the page shows, with an API key, and returns the code of the verification. */
async function run(command: string): Promise<string> {
  const [, url = "", body = ""] = /^curl (\S+) .* -d '(.*)'$/.exec(command) ?? [];
  const headers = { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body });
  expect(response.status).toBe(200);
  return ((await response.json()) as { code: string }).code;
}

async function createKeyspace(name: string, prefix: string): Promise<void> {
  await untilFocused(dialog());
  await field("Name").fill(name);
  await field("Prefix").fill(prefix);
  await dialog().getByRole("button", { name: "Create keyspace" }).click();
  await page.getByRole("heading", { name, level: 1 }).waitFor();
}

test("guides a newcomer to a keyspace and a key", async () => {
  await page.getByRole("link", { name: "Keyspaces" }).click();
  await page.getByRole("button", { name: "Create your first keyspace" }).click();
  await createKeyspace("Production", "sk_live");
  expect(await guide().count()).toBe(0);
  await page.getByRole("button", { name: "Issue the first key" }).click();
  await field("Name").fill("Acme");
  await dialog().getByRole("button", { name: "Issue key" }).click();
  await dialog().getByText(waiting).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("the link next to the command creates an API key in another tab, where the secret stays visible", async () => {
  const [tab] = await Promise.all([
    page.context().waitForEvent("page"),
    dialog().getByRole("link", { name: "create one in a new tab" }).click(),
  ]);
  await tab.getByRole("dialog").getByRole("button", { name: "Create key" }).waitFor();
  await tab.close();
  const { key } = await proceduresOf(page).apiKeys.create.mutate({
    name: "Service",
    settings: { permissions: ["keys:verify"] },
  });
  apiKey = key;
});

test("shows the arrival of the first verification next to the secret, and then on the page", async () => {
  await dialog().getByRole("button", { name: "Copy command" }).click();
  const command = String(await readClipboard(page));
  expect(command).toMatch(new RegExp(`^curl ${environment.baseUrl}/open/keys/verify `));
  expect(await run(command)).toBe("VALID");
  await dialog().getByText(arrived).waitFor();
  await dialog().getByText("Valid", { exact: true }).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Done" }).click();
  await guide().getByText(arrived).waitFor();
  const row = page.getByRole("row").filter({ hasText: "Acme" });
  await row.getByText("Never", { exact: true }).waitFor({ state: "detached" });
  await row.getByText(recentTime).first().waitFor();
  // The number of uses, which was 0 when the row was shown.
  await row.getByText("1", { exact: true }).waitFor();
  await page.reload();
  await page.getByRole("link", { name: "Acme" }).waitFor();
  await page.waitForLoadState("networkidle");
  expect(await guide().count()).toBe(0);
});

test("the page of a keyspace whose keys were never verified shows the command, and waits", async () => {
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Keyspaces" }).click();
  await page.getByRole("button", { name: "New keyspace" }).click();
  await createKeyspace("Staging", "sk_test");
  const { id: workspaceId } = await getWorkspace(page);
  const keyspaceId = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  const fields = { name: "Globex", ipRanges: ["203.0.113.0/24"] };
  const { key } = await proceduresOf(page).issuedKeys.create.mutate({ workspaceId, keyspaceId, fields });
  await page.reload();
  await guide().getByText(waiting).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  // The page continues to wait after a call has failed.
  await failCalls(page, "keyspaceUsage.latestOutcome");
  await page.waitForResponse((response) => response.url().includes("latestOutcome") && !response.ok());
  await page.unrouteAll();
  await guide().getByRole("button", { name: "Copy command" }).click();
  const command = String(await readClipboard(page));
  expect(await run(command.replace("sk_test_…", key))).toBe("FORBIDDEN");
  await guide().getByText(arrived).waitFor();
  await guide().getByText("IP address not allowed").waitFor();
  await page.setViewportSize({ width: 375, height: 800 });
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});
