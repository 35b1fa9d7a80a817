import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterEach, beforeAll, expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { routeOnce } from "./route-once.ts";

// The filters of the audit log, and its export.

const environment = prepareEnvironment();

let page: Page;
let address: string;
let workspaceId: string;
let complaints: readonly string[];

beforeAll(async () => {
  ({ page, complaints } = await environment.browser.open({ acceptDownloads: true }));
  await enter(page, environment.baseUrl);
  const { id, slug } = await getWorkspace(page);
  workspaceId = id;
  address = `${environment.baseUrl}/w/${slug}/audit`;
  await environment.command(
    ["user", "create", "--email", "grace@example.com", "--name", "Grace", "--password-stdin"],
    "a horse that counts to ten",
  );
  await environment.command([
    "member",
    "add",
    "--workspace",
    id,
    "--user",
    "grace@example.com",
    "--role",
    "admin",
  ]);
  await proceduresOf(page).workspaces.rename.mutate({ workspaceId: id, name: "=Engines", version: 1 });
});

afterEach(() => {
  expect(complaints).toEqual([]);
});

const status = (text: string) => page.getByRole("status").filter({ hasText: text }).first().waitFor();

test("filters by action, person, target and day, in the URL", async () => {
  await page.goto(address);
  await status("3 events");
  for (const width of [1280, 960, 768, 640, 375]) {
    await page.setViewportSize({ width, height: 900 });
    // Measured at the same time, because the page may still move after it was resized.
    const fields = page.getByLabel("From").or(page.getByLabel("To", { exact: true }));
    const tops = await fields.evaluateAll((all) => all.map((field) => field.getBoundingClientRect().y));
    expect(tops).toEqual([tops[0], tops[0]]);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole("combobox", { name: "Action" }).click();
  const actions = page.getByRole("listbox", { name: "Action" });
  await actions.waitFor();
  expect((await actions.boundingBox())?.width).toBeGreaterThanOrEqual(250);
  await page.keyboard.type("no such action");
  await actions.getByText("No action matches").waitFor();
  await page.getByRole("combobox", { name: "Action" }).fill("");
  await page.getByRole("option", { name: "Workspace renamed" }).click();
  await status("1 event");
  expect(new URL(page.url()).search).toBe("?action=workspace.renamed");
  await page.goto(address);
  await page.getByRole("combobox", { name: "Actor" }).click();
  await page.getByRole("option", { name: /^Grace/ }).click();
  await page.getByRole("heading", { name: "No event matches" }).waitFor();
  // A text that is incomplete isn't in the URL.
  await page.getByRole("textbox", { name: "Target" }).fill("usr_");
  await page.getByLabel("From").fill("2019");
  await page.getByText("Enter a day, such as 2026-03-01.").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).press("Enter");
  await status("3 events");
  expect(await page.getByRole("textbox", { name: "Target" }).inputValue()).toBe("");
  expect(await page.getByLabel("From").inputValue()).toBe("");
  // The list replaces the button.
  await page.locator("#content").and(page.locator(":focus")).waitFor();
  await page
    .getByRole("row", { name: /added/ })
    .getByRole("link", { name: "Show only events with this target" })
    .click();
  await status("1 event");
  await page.getByText("added Grace as an admin").waitFor();
  expect(await page.getByRole("textbox", { name: "Target" }).inputValue()).toMatch(/^usr_/);
  await page.getByRole("textbox", { name: "Target" }).fill("usr_");
  await page
    .getByText(
      "Enter the ID of a member, API key, invitation, webhook, keyspace, issued key, consumer or workspace.",
    )
    .waitFor();
  await page.getByRole("textbox", { name: "Target" }).fill("");
  await status("3 events");
  await page.getByLabel("From").fill("2020-02-30");
  await page.getByText("Enter a day, such as 2026-03-01.").waitFor();
  await page.getByLabel("From").fill("2020-01-01");
  await page.getByLabel("To", { exact: true }).fill("2020-01-31");
  await page.getByRole("heading", { name: "No event matches" }).waitFor();
  expect(new URL(page.url()).search).toBe("?from=2020-01-01&to=2020-01-31");
  await page.reload();
  await page.getByRole("heading", { name: "No event matches" }).waitFor();
  expect(await page.getByLabel("From").inputValue()).toBe("2020-01-01");
  // What is typed after a filter was cleared stays when the URL has changed.
  await page.getByLabel("From").evaluate((field) => {
    for (const text of ["", "2019"]) {
      Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value")?.set?.call(field, text);
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
  });
  await page.waitForURL(/\/audit\?to=2020-01-31$/);
  await page.getByText("Enter a day, such as 2026-03-01.").waitFor();
  expect(await page.getByLabel("From").inputValue()).toBe("2019");
});

test("finds a person with the keyboard", async () => {
  await page.goto(address);
  const actor = page.getByRole("combobox", { name: "Actor" });
  const options = page.getByRole("listbox", { name: "Actor" }).getByRole("option");
  await actor.focus();
  await page.getByRole("option", { name: /^Grace/ }).waitFor();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type("lovelace");
  await page.getByRole("option", { name: /^Grace/ }).waitFor({ state: "detached" });
  await page.getByRole("option", { name: /^Ada Lovelace/ }).waitFor();
  // The list still matches the text after it was closed.
  await page.keyboard.press("Escape");
  await options.first().waitFor({ state: "hidden" });
  await actor.click();
  expect(await actor.inputValue()).toBe("lovelace");
  expect(await options.allTextContents()).toEqual([expect.stringMatching(/^Ada Lovelace/)]);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/actor=usr_/);
  await status("2 events");
  expect(await actor.inputValue()).toMatch(/^Ada Lovelace \(/);
  // What is typed stays if the chosen person isn't found.
  await actor.fill("nobody");
  await page.getByRole("listbox", { name: "Actor" }).getByText("No actor matches").waitFor();
  await actor.fill("grace");
  await page.getByRole("option", { name: /^Grace/ }).waitFor();
  expect(await actor.inputValue()).toBe("grace");
  await actor.blur();
  expect(await actor.inputValue()).toMatch(/^Ada Lovelace \(/);
});

test("exports the events that match as CSV, without formulas", async () => {
  const { account } = proceduresOf(page);
  await account.rename.mutate({ name: "=Ada" });
  await page.goto(`${address}?action=workspace.renamed`);
  await page.getByRole("button", { name: "Export" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("all events that match the filters").waitFor();
  const downloading = page.waitForEvent("download");
  await dialog.getByRole("button", { name: "Export" }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toMatch(/-audit-log\.csv$/);
  const text = await readFile(await download.path(), "utf8");
  expect(text.split("\r\n")).toEqual([
    expect.stringMatching(/^id,occurredAt,action,/),
    expect.stringMatching(/,workspace\.renamed,session,usr_\w+,"'=Ada",,/),
    "",
  ]);
  await page.getByText(/^Exported 1 event in \d+ seconds?\.$/).waitFor();
  await account.rename.mutate({ name: "Ada Lovelace" });
});

test("shows how many events have been exported, and can be canceled", async () => {
  // So many that the export still runs when it is canceled. The filter leaves 20,001 of them.
  await environment.change(
    `insert into audit_events (workspace_id, id, occurred_at, action, actor_kind, target_kind, target_id)
     select id, gen_random_uuid(), timestamptz '2026-01-01' + n * interval '1 second',
       case when n <= 20000 then 'workspace.renamed' else 'workspace.created' end, 'command', 'workspace', id
     from workspaces, generate_series(1, 100000) n where name = '=Engines'`,
  );
  await page.goto(address);
  await page.getByRole("button", { name: "Export" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("NDJSON").check();
  await dialog.getByRole("button", { name: "Export" }).click();
  const shown = dialog.getByRole("paragraph", { includeHidden: true });
  await shown.filter({ hasText: /^[1-9][\d,]* events in \d+ seconds? so far$/ }).waitFor();
  // A screen reader announces it every few seconds.
  const announced = await dialog.getByRole("status").textContent();
  expect(announced).toMatch(/^0 events in 0 seconds so far$|in (([5-9]|\d\d+) seconds|\d+ minutes?) so far$/);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("combobox", { name: "Action" }).click();
  await page.getByRole("option", { name: "Workspace renamed" }).click();
  await page.getByRole("button", { name: "Export" }).click();
  await dialog.getByText("all events that match the filters").waitFor();
  await dialog.getByLabel("NDJSON").check();
  const downloading = page.waitForEvent("download");
  await dialog.getByRole("button", { name: "Export" }).click();
  const text = await readFile(await (await downloading).path(), "utf8");
  expect(text.trimEnd().split("\n")).toHaveLength(20_001);
  await page.getByText(/^Exported 20,001 events in \d+ (seconds?|minutes?)\.$/).waitFor();
});

test("explains that an export stopped early, that it is no longer allowed, and that the session has ended", async () => {
  await page.goto(address);
  await page.getByRole("button", { name: "Export" }).click();
  const dialog = page.getByRole("dialog");
  const exports = "**/exports/audit-events";
  await routeOnce(page, exports, (route) => route.abort());
  await dialog.getByRole("button", { name: "Export" }).click();
  await dialog.getByText("The export stopped before it was complete. Try again.").waitFor();
  const body = JSON.stringify({
    error: { code: "FORBIDDEN", message: "Insufficient access", requestId: "r-1" },
  });
  await routeOnce(page, exports, (route) => route.fulfill({ status: 403, body }));
  await dialog.getByRole("button", { name: "Export" }).click();
  await dialog.getByText("Insufficient access.").waitFor();
  const ended = JSON.stringify({ error: { code: "UNAUTHORIZED", message: "Not signed in" } });
  await routeOnce(page, exports, (route) => route.fulfill({ status: 401, body: ended }));
  await dialog.getByRole("button", { name: "Export" }).click();
  await page.getByText("Your session has ended. Sign in to continue.").waitFor();
  // Chromium reports the failed requests.
  (complaints as string[]).length = 0;
});

test("has no accessibility problem in the light and the dark theme, also at 375 px", async () => {
  await page.goto(`${address}?target=${workspaceId}`);
  await status("The latest 50 events");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("dialog").getByLabel("NDJSON").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 375, height: 800 });
  await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(375);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
});
