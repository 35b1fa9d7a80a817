import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { recentTime } from "../support/recent-time.ts";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

// The consumers of a keyspace, and what all keys of a consumer have in common. Each test continues where the previous one ended.

let page: Page;
let path: { readonly workspaceId: string; readonly keyspaceId: string };
let keyspaceUrl: string;
let slug: string;
/** The secrets of two keys of the consumer `acme`. */
let secrets: readonly [string, string];

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page } = await browser.open());
  await enter(page, baseUrl);
  const workspace = await getWorkspace(page);
  slug = workspace.slug;
  const keyspace = { workspaceId: workspace.id, fields: { name: "Production", prefix: "sk_live" } };
  const { id: keyspaceId } = await proceduresOf(page).keyspaces.create.mutate(keyspace);
  path = { workspaceId: workspace.id, keyspaceId };
  keyspaceUrl = `${baseUrl}/w/${slug}/keyspaces/${keyspaceId}`;
});

const dialog = () => page.getByRole("dialog");
const rowOf = (text: string) => page.getByRole("row").filter({ hasText: text });
const field = (name: string) => dialog().getByRole("textbox", { name, exact: true });
const section = (name: string) => page.getByRole("region", { name, exact: true });
const tab = (name: string) => page.getByRole("navigation", { name: "Keyspace" }).getByRole("link", { name });

async function issue(fields: { name: string; externalId?: string; isDisabled?: boolean }): Promise<string> {
  return (await proceduresOf(page).issuedKeys.create.mutate({ ...path, fields })).key;
}

/** The code of a verification with a cost of 1. */
async function use(key: string): Promise<string> {
  return (await proceduresOf(page).issuedKeys.verify.mutate({ ...path, key, cost: 1 })).code;
}

test("explains what consumers are before the first one exists", async () => {
  await page.goto(keyspaceUrl);
  await tab("Keys").and(page.locator('[aria-current="page"]')).waitFor();
  await tab("Consumers").click();
  await page.getByRole("heading", { name: "No consumers yet" }).waitFor();
  await tab("Consumers").and(page.locator('[aria-current="page"]')).waitFor();
  expect(await page.title()).toBe("Consumers · Production · Latchkey");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("lists consumers with their keys and uses, searched and sorted in the URL", async () => {
  secrets = [
    await issue({ name: "Web", externalId: "acme" }),
    await issue({ name: "Mobile", externalId: "acme" }),
  ];
  await issue({ name: "Old", externalId: "acme", isDisabled: true });
  for (const externalId of ["globex", "Acme-2"]) await issue({ name: "Only", externalId });
  expect(await use(secrets[0])).toBe("VALID");
  await page.reload();
  const acme = rowOf("acme").first();
  await acme.waitFor();
  expect(await acme.getByRole("cell").allInnerTexts()).toEqual([
    "3",
    "2",
    "–\nNone",
    "1",
    expect.stringMatching(recentTime),
    expect.stringMatching(recentTime),
  ]);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("searchbox", { name: "Search consumers" }).fill("ACME");
  await rowOf("globex").waitFor({ state: "detached" });
  await rowOf("Acme-2").waitFor();
  await page.waitForURL(/\/consumers\?q=ACME$/);
  await page.getByRole("button", { name: "External ID" }).click();
  await page.waitForURL(/\/consumers\?q=ACME&sort=-externalId$/);
  await expect.poll(() => page.getByRole("rowheader").allInnerTexts()).toEqual(["Acme-2", "acme"]);
  await page.reload();
  await expect.poll(() => page.getByRole("rowheader").allInnerTexts()).toEqual(["Acme-2", "acme"]);
  await page.getByRole("searchbox", { name: "Search consumers" }).fill("none");
  await page.getByRole("heading", { name: "No consumer matches “none”" }).waitFor();
  await page.getByRole("button", { name: "Clear search" }).click();
  await rowOf("globex").waitFor();
});

test("opens a consumer from the list, a key and the table of keys, with only its keys", async () => {
  await page.getByRole("link", { name: "acme", exact: true }).click();
  await page.getByRole("heading", { name: "acme", level: 1 }).waitFor();
  await section("Keys").getByText("3 keys", { exact: true }).waitFor();
  await rowOf("Mobile").waitFor();
  expect(await page.getByText("Only", { exact: true }).count()).toBe(0);
  expect(await page.getByRole("columnheader", { name: "Consumer" }).count()).toBe(0);
  await section("Details").getByText("3 keys, 2 of them active").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("searchbox", { name: "Search keys" }).fill("mob");
  await rowOf("Web").waitFor({ state: "detached" });
  await page.waitForURL(/\/consumers\/acme\?q=mob$/);
  await page.getByRole("link", { name: "Mobile" }).click();
  await page.getByRole("heading", { name: "Mobile", level: 1 }).waitFor();
  await section("Settings").getByRole("link", { name: "acme" }).click();
  await page.getByRole("heading", { name: "acme", level: 1 }).waitFor();
  await page
    .getByRole("navigation", { name: "Breadcrumb" })
    .getByRole("link", { name: "Production" })
    .click();
  await rowOf("Web").getByRole("link", { name: "acme" }).click();
  await page.getByRole("heading", { name: "acme", level: 1 }).waitFor();
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Consumers" }).click();
  await tab("Consumers").and(page.locator('[aria-current="page"]')).waitFor();
});

test("issues a key to a consumer from its page", async () => {
  await page.getByRole("link", { name: "globex" }).click();
  await section("Usage").scrollIntoViewIfNeeded();
  await section("Usage").getByText("No verifications in the last 24 hours.").waitFor();
  await page.getByRole("button", { name: "Issue key" }).click();
  expect(await field("External ID").inputValue()).toBe("globex");
  await field("Name").fill("Second");
  await dialog().getByRole("button", { name: "Issue key" }).click();
  await dialog().getByText("It won’t be shown again.").waitFor();
  await dialog().getByRole("button", { name: "Done" }).click();
  await rowOf("Second").waitFor();
  await section("Details").getByText("2 keys, all active").waitFor();
});

test("a key that is issued to a consumer elsewhere appears on its page", async () => {
  await issue({ name: "Third", externalId: "globex" });
  await rowOf("Third").waitFor();
  await section("Details").getByText("3 keys, all active").waitFor();
});

test("sets a limit that the keys of a consumer share, after a conflict, and verifications are rate limited", async () => {
  await page.goto(`${keyspaceUrl}/consumers/acme`);
  await section("Shared rate limits").getByText("Only the limits of each key apply").waitFor();
  await page.getByRole("button", { name: "Edit limits" }).click();
  await dialog().getByRole("button", { name: "Add rate limit" }).click();
  await dialog().getByRole("button", { name: "Save" }).click();
  await dialog().getByText("Enter a whole number from 1").waitFor();
  await field("Quota").fill("5");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  const other = { name: "exports", quota: 9, windowSeconds: 60, appliesAlways: true };
  const version = 1;
  const changes = { limits: [other] };
  await proceduresOf(page).consumers.update.mutate({ ...path, externalId: "acme", version, changes });
  await dialog().getByRole("button", { name: "Save" }).click();
  await dialog().getByText("your changes weren’t saved").waitFor();
  await dialog().getByRole("alert").getByText("exports: 9 per minute").waitFor();
  expect(await field("Quota").inputValue()).toBe("5");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Discard changes" }).click();
  await field("Limit name").and(page.locator(":focus")).waitFor();
  expect(await field("Limit name").inputValue()).toBe("exports");
  expect(await dialog().getByRole("alert").count()).toBe(0);
  await field("Limit name").fill("requests");
  await field("Quota").fill("3");
  await dialog().getByRole("combobox", { name: "Window" }).click();
  await page.getByRole("option", { name: "per day", exact: true }).click();
  await dialog().getByRole("button", { name: "Save" }).click();
  await section("Shared rate limits").getByText("requests: 3 per day").waitFor();
  const [web, mobile] = secrets;
  expect([await use(web), await use(mobile), await use(web)]).toEqual(["VALID", "VALID", "VALID"]);
  expect([await use(web), await use(mobile)]).toEqual(["RATE_LIMITED", "RATE_LIMITED"]);
});

test("shows the verifications of all keys of a consumer by outcome, in a period that is in the URL", async () => {
  const chart = (words: string) => page.getByRole("img", { name: words });
  await section("Usage").scrollIntoViewIfNeeded();
  await chart("in the last 24 hours by outcome, 4 allowed, 2 rate limited, 0 rejected").waitFor();
  await section("Usage").getByRole("button", { name: "Show as a table" }).click();
  await page.getByRole("table", { name: "Verifications by hour" }).waitFor();
  await page.getByRole("button", { name: "7 days" }).click();
  await chart("in the last 7 days by outcome, 4 allowed, 2 rate limited, 0 rejected").waitFor();
  await page.waitForURL(/\/consumers\/acme\?range=7d$/);
  // The table stays open.
  await page.getByRole("table", { name: "Verifications by day" }).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("disables, enables and deletes all keys of a consumer, after saying how many stop working", async () => {
  const [web] = secrets;
  await page.getByRole("button", { name: "Disable all keys" }).press("Enter");
  await dialog().getByText("2 keys stop working from the next request").waitFor();
  await dialog()
    .getByText(/^just now|ago \(/)
    .waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Disable 3 keys" }).click();
  await page.getByText("2 keys were disabled.").waitFor();
  await section("Details").getByText("3 keys, none of them active").waitFor();
  await expect.poll(() => page.getByRole("row").filter({ hasText: "Disabled" }).count()).toBe(3);
  expect(await use(web)).toBe("DISABLED");
  await page.getByRole("button", { name: "Enable all keys" }).press("Enter");
  await dialog().getByRole("button", { name: "Enable 3 keys" }).click();
  await page.getByText("3 keys were enabled.").waitFor();
  expect(await use(web)).toBe("RATE_LIMITED");
  await page.getByRole("button", { name: "Delete all keys" }).press("Enter");
  await dialog().getByText("3 keys stop working from the next request").waitFor();
  await dialog().getByText("This can’t be undone.").waitFor();
  await dialog().getByRole("button", { name: "Delete 3 keys" }).click();
  await page.getByText("3 keys were deleted.").waitFor();
  await page.getByRole("heading", { name: "No keys", exact: true }).waitFor();
  // The button that opened the dialog is disabled.
  await page.locator("#content:focus").waitFor();
  await dialog().waitFor({ state: "detached" });
  await page.locator("#content:focus").waitFor();
  expect(await use(web)).toBe("NOT_FOUND");
  expect(await page.getByRole("button", { name: "Disable all keys" }).isDisabled()).toBe(true);
  await page.setViewportSize({ width: 375, height: 800 });
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 720 });
});

const oddIds = ["../a//b", ".a", "a\\b+c", "%", "100%2F", "ä?q=1#&=🔑", "עברית (1)"];

test("an external ID with any characters has a page, which links and reloads open", async () => {
  for (const externalId of oddIds) await issue({ name: `Key of ${externalId}`, externalId });
  await page.goto(`${keyspaceUrl}/consumers`);
  for (const externalId of oddIds) {
    await page.getByRole("link", { name: externalId, exact: true }).click();
    const heading = page.getByRole("heading", { level: 1 }).getByText(externalId, { exact: true });
    await heading.waitFor();
    expect(await heading.evaluate((element) => element.tagName)).toBe("BDI");
    await rowOf(`Key of ${externalId}`).waitFor();
    expect(new URL(page.url()).pathname).toMatch(/\/consumers\/[^/]+$/);
    const response = await page.reload();
    expect([externalId, response?.status()]).toEqual([externalId, 200]);
    await heading.waitFor();
    await page.goBack();
    await page.getByRole("link", { name: externalId, exact: true }).waitFor();
  }
});

test("cuts a key that is pasted in place of a name or an external ID, so that no URL contains it", async () => {
  const [, secret] = secrets;
  const urls: string[] = [];
  page.on("request", (request) => urls.push(request.url()));
  const start = secret.slice(0, 14);
  await page.goto(`${keyspaceUrl}/consumers`);
  await page.getByRole("searchbox", { name: "Search consumers" }).fill(secret);
  await page.getByRole("heading", { name: `No consumer matches “${start}”` }).waitFor();
  expect(page.url()).toContain(`q=${start}`);
  // Pasted again, it doesn't change the URL.
  await page.getByRole("searchbox", { name: "Search consumers" }).fill(secret);
  expect(await page.getByRole("searchbox", { name: "Search consumers" }).inputValue()).toBe(start);
  await page.goto(keyspaceUrl.slice(0, keyspaceUrl.lastIndexOf("/")));
  await page.getByRole("searchbox", { name: "Search keyspaces" }).fill(secret);
  await page.getByRole("heading", { name: `No keyspace matches “${start}”` }).waitFor();
  await page.goto(keyspaceUrl);
  const filter = page.getByRole("textbox", { name: "External ID" });
  await filter.fill(secret);
  await page.getByRole("heading", { name: "No key matches the filters" }).waitFor();
  expect(page.url()).toContain(`consumer=${start}`);
  expect(await filter.inputValue()).toBe(start);
  await filter.fill(secret);
  expect(await filter.inputValue()).toBe(start);
  expect(urls.filter((url) => url.includes(secret))).toEqual([]);
  expect(page.url()).not.toContain(secret);
});

test("reports an unknown consumer", async () => {
  await page.goto(`${keyspaceUrl}/consumers/unknown`);
  await page.getByRole("heading", { name: "Consumer not found" }).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("a viewer sees consumers, and no action that the role doesn’t allow", async () => {
  const { page: linus } = await environment.browser.open();
  await enter(linus, environment.baseUrl, "linus@example.com");
  const member = ["--workspace", path.workspaceId, "--user", "linus@example.com", "--role", "viewer"];
  await environment.command(["member", "add", ...member]);
  await linus.goto(`${keyspaceUrl}/consumers`);
  await linus.getByRole("link", { name: "globex" }).click();
  await linus.getByRole("heading", { name: "globex", level: 1 }).waitFor();
  await linus.getByRole("link", { name: "Second" }).waitFor();
  for (const name of ["Issue key", "Edit limits", "Disable all keys", "Delete all keys"])
    expect(await linus.getByRole("button", { name }).count()).toBe(0);
});
