import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { recentTime } from "../support/recent-time.ts";
import { scrollUntil } from "../support/scroll-until.ts";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

// What Ada's consumers did with a key, and what its admins changed. Each test continues where the previous one ended.

let page: Page;
let workspace: Awaited<ReturnType<typeof getWorkspace>>;
let apiKey: string;
let path: { readonly workspaceId: string; readonly keyspaceId: string };
let key: { readonly id: string; readonly secret: string };

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page } = await browser.open());
  await enter(page, baseUrl);
  workspace = await getWorkspace(page);
  const { apiKeys, keyspaces, issuedKeys } = proceduresOf(page);
  ({ key: apiKey } = await apiKeys.create.mutate({ name: "Gateway" }));
  const fields = { name: "Production", prefix: "sk_live" };
  const { id: keyspaceId } = await keyspaces.create.mutate({ workspaceId: workspace.id, fields });
  path = { workspaceId: workspace.id, keyspaceId };
  const { id, key: secret = "" } = await issuedKeys.create.mutate({
    ...path,
    fields: {
      name: "Acme",
      credits: { remaining: 1 },
      ipRanges: ["203.0.113.0/24"],
      limits: [{ name: "exports", quota: 1, windowSeconds: 86_400, appliesAlways: false }],
    },
  });
  key = { id, secret };
});

const section = (name: string) => page.getByRole("region", { name });
const rowOf = (text: string) => page.getByRole("row").filter({ hasText: text });

/** Verifies the key as a service. Returns the code. */
async function verify(body: object): Promise<string> {
  const response = await fetch(`${environment.baseUrl}/open/keys/verify`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
    body: JSON.stringify({ key: key.secret, clientIp: "203.0.113.7", ...body }),
  });
  const { code } = (await response.json()) as { readonly code: string };
  return code;
}

/** The URL of the page of the key, or of a page below its keyspace. */
function urlOf(rest = `/keys/${key.id}`): string {
  return `${environment.baseUrl}/w/${workspace.slug}/keyspaces/${path.keyspaceId}${rest}`;
}

test("a key that wasn't verified shows the command that verifies it", async () => {
  await page.goto(urlOf());
  await section("Usage").getByText("No verifications in the last 24 hours.").waitFor();
  await section("Rejected and rate-limited verifications").getByText("The last 100 appear here").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("shows verifications by outcome, and the rejected ones with their reasons", async () => {
  const limits = [{ name: "exports" }];
  expect(await verify({ limits })).toBe("VALID");
  expect(await verify({ limits })).toBe("RATE_LIMITED");
  expect(await verify({})).toBe("USAGE_EXCEEDED");
  expect(await verify({ clientIp: "198.51.100.9" })).toBe("FORBIDDEN");
  await page
    .getByRole("img", {
      name: "Verifications in the last 24 hours by outcome, 1 allowed, 1 rate limited, 2 rejected",
    })
    .waitFor();
  const reasons = section("Usage").locator("dl");
  await reasons.getByText("Out of credits").waitFor();
  await reasons.getByText("IP address not allowed").waitFor();
  const rejections = section("Rejected and rate-limited verifications");
  await scrollUntil(rejections.getByRole("row"));
  for (const [result, reason] of [
    ["Rate limited", "The remaining quota of a rate limit is lower than the cost."],
    ["Out of credits", "The key has too few credits for this cost."],
    ["IP address not allowed", "the IP address is missing or in none of them."],
  ] as const) {
    const row = rejections.getByRole("row").filter({ hasText: result });
    await row.getByText(reason).waitFor();
  }
  await rejections.getByRole("row").filter({ hasText: "198.51.100.9" }).getByText(recentTime).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("the range and the filter by reason are in the URL", async () => {
  await section("Usage").getByRole("button", { name: "7 days" }).click();
  await page.getByRole("img", { name: "Verifications in the last 7 days by outcome, 1 allowed" }).waitFor();
  await page.getByRole("combobox", { name: "Reason" }).click();
  await page.getByRole("option", { name: "Out of credits" }).click();
  await page.waitForURL(/\?range=7d&reason=USAGE_EXCEEDED$/);
  await page.reload();
  await page.getByRole("img", { name: "Verifications in the last 7 days by outcome, 1 allowed" }).waitFor();
  await scrollUntil(rowOf("Out of credits"));
  expect(await rowOf("198.51.100.9").count()).toBe(0);
});

test("a change of credits appears in the history, with who made it", async () => {
  await page.getByRole("button", { name: "Change balance" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Credits" }).fill("5");
  await page.getByRole("dialog").getByRole("button", { name: "Change balance" }).click();
  const items = section("Changes to this key").getByRole("listitem");
  await items.getByText("added 5 credits, from 0 to 5").waitFor();
  const { issuedKeys } = proceduresOf(page);
  const change = { ...path, id: key.id, version: 1, changes: { permissions: ["documents.read"] } };
  await issuedKeys.update.mutate(change);
  await items.getByText("changed the permissions from none to “documents.read”").waitFor();
  expect(await items.allInnerTexts()).toEqual([
    expect.stringMatching(/^Ada Lovelace changed the permissions/),
    expect.stringMatching(/^Ada Lovelace added 5 credits/),
    expect.stringMatching(/^Ada Lovelace issued the key with credits: 1/),
  ]);
  await section("Changes to this key").getByRole("button", { name: "Credits" }).click();
  await page.waitForURL(/changes=credits/);
  await items.getByText("changed the permissions").waitFor({ state: "detached" });
  expect(await items.count()).toBe(2);
  await page.setViewportSize({ width: 375, height: 800 });
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 720 });
});

test("the audit log shows the changes of the key, to those who may read it", async () => {
  await page.getByRole("link", { name: "Show in the audit log" }).click();
  await rowOf("changed the credits of the issued key “Acme” from 0 to 5").waitFor();
  await page.waitForURL(new RegExp(`target=${key.id}`));
  const { page: grace } = await environment.browser.open();
  await enter(grace, environment.baseUrl, "grace@example.com");
  const membership = ["--workspace", workspace.id, "--user", "grace@example.com", "--role", "viewer"];
  await environment.command(["member", "add", ...membership]);
  await grace.goto(urlOf());
  await grace.getByRole("listitem").getByText("added 5 credits, from 0 to 5").waitFor();
  expect(await grace.getByRole("link", { name: "Show in the audit log" }).count()).toBe(0);
});

test("the table of keys shows the uses and the verifications of the last 30 days", async () => {
  await proceduresOf(page).issuedKeys.create.mutate({ ...path, fields: { name: "Globex" } });
  await page.goto(urlOf(""));
  await rowOf("Acme").getByRole("img", { name: "4 verifications in 30 days" }).waitFor();
  await rowOf("Globex").getByRole("img", { name: "0 verifications in 30 days" }).waitFor();
  expect(await rowOf("Acme").getByRole("cell", { name: "1", exact: true }).count()).toBe(1);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("earlier changes take the focus of the button that showed them", async () => {
  const { issuedKeyCredits } = proceduresOf(page);
  for (let count = 0; count < 9; count += 1)
    await issuedKeyCredits.change.mutate({ ...path, id: key.id, change: { add: 1 } });
  await page.goto(urlOf());
  const items = section("Changes to this key").getByRole("listitem");
  await page.getByRole("button", { name: "Show 2 earlier changes" }).press("Enter");
  await items.nth(10).and(page.locator(":focus")).waitFor();
  expect(await items.count()).toBe(12);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("100 keys need one request for the list, and one for their usage", async () => {
  await environment.change(`
    insert into issued_keys (workspace_id, keyspace_id, id, hash, start, name)
    select workspace_id, id, uuidv7(), sha256(n::text::bytea), 'sk_live_000000', 'Many ' || n
    from keyspaces, generate_series(1, 120) n`);
  await environment.change(`
    insert into key_counters (key_id) select id from issued_keys on conflict do nothing`);
  const calls: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith("/trpc/")) calls.push(...pathname.slice("/trpc/".length).split(","));
  });
  await page.goto(urlOf("?size=100"));
  const sparklines = page.getByRole("img", { name: "0 verifications in 30 days" });
  await expect.poll(() => sparklines.count()).toBe(100);
  const countOf = (name: string) => calls.filter((call) => call === name).length;
  expect([countOf("issuedKeys.list"), countOf("keyspaceUsage.recent")]).toEqual([1, 1]);
  await page.getByRole("button", { name: "Show more" }).click();
  await rowOf("Acme").getByRole("img", { name: "4 verifications in 30 days" }).waitFor();
  expect([countOf("issuedKeys.list"), countOf("keyspaceUsage.recent")]).toEqual([2, 2]);
});
