import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { enter, signIn } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { holdCall } from "./hold-call.ts";
import { routeOnce } from "./route-once.ts";

// Ada verifies keys of two keyspaces, and sees the verifications on the pages of the keyspace and of the workspace.

let page: Page;
let workspace: Awaited<ReturnType<typeof getWorkspace>>;
let keyspaceId: string;
let acme: Awaited<ReturnType<ReturnType<typeof proceduresOf>["issuedKeys"]["create"]["mutate"]>>;

const viewerEmail = "grace@example.com";

const environment = prepareEnvironment(
  async ({ browser, baseUrl, change }) => {
    ({ page } = await browser.open({ viewport: { width: 1280, height: 900 } }));
    await enter(page, baseUrl);
    workspace = await getWorkspace(page);
    const { apiKeys, keyspaces, issuedKeys } = proceduresOf(page);
    const { key: apiKey } = await apiKeys.create.mutate({ name: "Gateway" });
    const create = async (name: string) =>
      (
        await keyspaces.create.mutate({
          workspaceId: workspace.id,
          fields: { name, prefix: "sk_live" },
        })
      ).id;
    const issue = (keyspace: string, fields: { name: string; externalId?: string }) =>
      issuedKeys.create.mutate({ workspaceId: workspace.id, keyspaceId: keyspace, fields });
    const verify = async (key: string, fields: object = {}) => {
      const response = await fetch(`${baseUrl}/open/keys/verify`, {
        method: "POST",
        headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
        body: JSON.stringify({ key, ...fields }),
      });
      return ((await response.json()) as { code: string }).code;
    };
    keyspaceId = await create("Production");
    const staging = await create("Staging");
    acme = await issue(keyspaceId, { name: "=Acme", externalId: "customer_42" });
    const globex = await issue(staging, { name: "Globex" });
    await issue(keyspaceId, { name: "Forgotten" });
    await issue(keyspaceId, { name: "Ending" });
    await change("update issued_keys set created_at = now() - interval '31 days' where name = 'Forgotten'");
    await change("update issued_keys set expires_at = now() + interval '2 days' where name = 'Ending'");
    for (let count = 0; count < 3; count += 1) expect(await verify(acme.key, { tags: ["eu"] })).toBe("VALID");
    expect(await verify(acme.key, { permissions: "admin" })).toBe("INSUFFICIENT_PERMISSIONS");
    expect(await verify(acme.key, { cost: 0 })).toBe("VALID");
    expect(await verify(globex.key)).toBe("VALID");
  },
  { HISTORY_DAYS: "60" },
);

const usagePath = () => `${environment.baseUrl}/w/${workspace.slug}/keyspaces/${keyspaceId}/usage`;
const section = (name: string) => page.getByRole("region", { name, exact: true });
const item = (name: string, text: string) => section(name).getByRole("listitem").filter({ hasText: text });

test("the usage of a keyspace: outcomes with their meaning, and the busiest key, consumer and tag", async () => {
  await page.goto(`${environment.baseUrl}/w/${workspace.slug}/keyspaces/${keyspaceId}`);
  await page.getByRole("navigation", { name: "Keyspace" }).getByRole("link", { name: "Usage" }).click();
  await page
    .getByRole("img", {
      name: "Verifications in the last 24 hours by outcome, 4 allowed, 0 rate limited, 1 rejected",
    })
    .waitFor();
  const outcome = (code: string) => section("Outcomes").locator("dl > div").filter({ hasText: code });
  expect(await outcome("INSUFFICIENT_PERMISSIONS").textContent()).toMatch(/didn’t satisfy the query\.1$/);
  expect(await outcome("CHECKED").textContent()).toMatch(/a retry\.1$/);
  expect(await outcome("RATE_LIMITED").textContent()).toMatch(/the cost\.0$/);
  await item("Busiest keys", "=Acme").getByText("5 verifications").waitFor();
  await item("Busiest keys", "=Acme").getByText("3 uses").waitFor();
  await item("Busiest consumers", "customer_42").getByText("5 verifications").waitFor();
  await item("Busiest consumers", "customer_42").getByText("3 uses").waitFor();
  await item("Verifications by tag", "eu").getByText("3 verifications").waitFor();
  expect(await page.getByText("Globex").count()).toBe(0);
  await page.getByRole("button", { name: "Show as a table" }).click();
  await page.getByRole("table", { name: "Verifications by hour" }).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  // The user has expanded the navigation, which leaves little room.
  await page.evaluate("localStorage.setItem('latchkey.navigation-folded', 'false')");
  await page.setViewportSize({ width: 768, height: 900 });
  await page.reload();
  const meaning = outcome("RATE_LIMITED").getByText("The remaining quota");
  await expect.poll(async () => (await meaning.boundingBox())?.height).toBeLessThan(24);
  await page.evaluate("localStorage.removeItem('latchkey.navigation-folded')");
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.reload();

  const periods = page.getByRole("group", { name: "Period" }).getByRole("button");
  // Counts are kept for 60 days.
  await expect.poll(() => periods.allTextContents()).toEqual(["24 hours", "7 days", "30 days", "60 days"]);
  await periods.last().click();
  await page.waitForURL(/\/usage\?range=90d$/);
  await page.getByRole("img", { name: /in the last 60 days by outcome, 4 allowed/ }).waitFor();
  await page.getByRole("button", { name: "7 days" }).click();
  await page.waitForURL(/\/usage\?range=7d$/);
  await page.reload();
  await page.getByRole("img", { name: /in the last 7 days by outcome, 4 allowed/ }).waitFor();
  await item("Busiest consumers", "customer_42").getByRole("link", { name: "customer_42" }).click();
  await page.getByRole("heading", { name: "customer_42", level: 1 }).waitFor();
  await page.goBack();
  await item("Busiest keys", "=Acme").getByRole("link", { name: "=Acme" }).click();
  await page.getByRole("heading", { name: "=Acme", level: 1 }).waitFor();
});

test("the list of keyspaces has the uses of each keyspace and its last verification", async () => {
  const { keyspaces } = proceduresOf(page);
  const fields = { name: "Unused", prefix: "sk_live" };
  const { id } = await keyspaces.create.mutate({ workspaceId: workspace.id, fields });
  await page.goto(`${environment.baseUrl}/w/${workspace.slug}/keyspaces`);
  const headers = page.getByRole("columnheader");
  const cells = async (name: string) => {
    const titles = await headers.allTextContents();
    const texts = await page.getByRole("row").filter({ hasText: name }).getByRole("cell").allTextContents();
    // The first cell of a row is its header.
    return ["Uses (30 days)", "Last verified"].map((title) => texts[titles.indexOf(title) - 1]);
  };
  await expect.poll(() => cells("Production")).toEqual(["3", expect.stringMatching(/hour/i)]);
  expect(await cells("Staging")).toEqual(["1", expect.stringMatching(/hour/i)]);
  expect(await cells("Unused")).toEqual(["0", "–None"]);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await keyspaces.delete.mutate({ workspaceId: workspace.id, keyspaceId: id });
});

/** Exports from the dialog of the page, and returns the file's name and its lines. */
async function exportBy(grouping: string, rows: RegExp): Promise<readonly [string, readonly string[]]> {
  await page.getByRole("button", { name: "Export CSV" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("radio", { name: grouping }).check();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Export", exact: true }).click(),
  ]);
  await dialog.waitFor({ state: "detached" });
  await page.getByText(rows).last().waitFor();
  const text = await readFile(await download.path(), "utf8");
  return [download.suggestedFilename(), text.trimEnd().split("\r\n")];
}

const withoutTime = (line: string) => line.slice(line.indexOf(",") + 1);

test("exports the shown period by outcome and by key as CSV, without formulas", async () => {
  await page.goto(`${usagePath()}?range=30d`);
  await page.getByRole("img", { name: /in the last 30 days by outcome/ }).waitFor();
  const [name, [head, ...lines]] = await exportBy("By outcome", /^Exported 3 rows in \d+ seconds?\.$/);
  expect(name).toBe(`${workspace.slug}-verifications-30d-by-outcome.csv`);
  expect(head).toBe("startsAt,keyspaceId,keyspaceName,outcome,count");
  expect(lines.map(withoutTime).toSorted()).toEqual(
    [
      `${keyspaceId},Production,CHECKED,1`,
      `${keyspaceId},Production,INSUFFICIENT_PERMISSIONS,1`,
      `${keyspaceId},Production,VALID,3`,
    ].toSorted(),
  );
  const [, [, ...keys]] = await exportBy("By key", /^Exported 1 row in/);
  expect(keys.map(withoutTime)).toEqual([`${keyspaceId},Production,${acme.id},"'=Acme",5,3`]);
});

test("says that an export failed", async () => {
  await page.getByRole("button", { name: "Export CSV" }).click();
  const dialog = page.getByRole("dialog");
  await routeOnce(page, "**/exports/verifications", (route) => route.abort());
  await dialog.getByRole("button", { name: "Export", exact: true }).click();
  await dialog.getByText("The export stopped before it was complete. Try again.").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
});

test("the overview adds up all keyspaces, and lists the keys that need attention", async () => {
  await page.goto(`${environment.baseUrl}/w/${workspace.slug}`);
  await page
    .getByRole("img", {
      name: "Verifications in the last 24 hours by outcome, 5 allowed, 0 rate limited, 1 rejected",
    })
    .waitFor();
  await item("Busiest issued keys", "=Acme").getByText("5 verifications").waitFor();
  await item("Busiest issued keys", "=Acme").getByText("3 uses").waitFor();
  await item("Busiest issued keys", "Globex").getByText("Staging").waitFor();
  await item("Busiest consumers", "customer_42").getByText("Production").waitFor();
  await item("Issued keys that expire within 30 days", "Ending").getByText(/day/).waitFor();
  await item("Unused issued keys", "Forgotten").getByText("Never used").waitFor();
  expect(await section("Unused issued keys").getByRole("listitem").count()).toBe(1);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  // No line break separates the number from its unit, wherever the line ends.
  const uses = item("Busiest issued keys", "=Acme").getByText("3 uses", { exact: true });
  for (let width = 320; width <= 400; width += 10) {
    await page.setViewportSize({ width, height: 900 });
    expect((await uses.boundingBox())?.height).toBeLessThan(24);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  const [name, [, ...lines]] = await exportBy("By key", /^Exported 2 rows in/);
  expect(name).toBe(`${workspace.slug}-verifications-24h-by-key.csv`);
  expect(lines.map((line) => line.split(",")[2]).toSorted()).toEqual(["Production", "Staging"]);
  await item("Unused issued keys", "Forgotten").getByRole("link").click();
  await page.getByRole("heading", { name: "Forgotten", level: 1 }).waitFor();
});

test("while another period loads, the overview shows no figures of the former one", async () => {
  await page.goto(`${environment.baseUrl}/w/${workspace.slug}`);
  const busiest = {
    keys: "Busiest API keys",
    issuedKeys: "Busiest issued keys",
    consumers: "Busiest consumers",
  };
  await item(busiest.keys, "Gateway").waitFor();
  await item(busiest.consumers, "customer_42").waitFor();
  // The calls with the starts of 7 days. The calls of the former period are repeated.
  const starts = String.raw`\?.*starts%22%3A%5B\d+(%2C\d+){6}%5D`;
  const keys = await holdCall(page, `overview.keys${starts}`);
  const verifications = await holdCall(page, `overview.verifications${starts}`);
  await page.getByRole("group", { name: "Period" }).getByRole("button", { name: "7 days" }).click();
  await Promise.all([keys.isSent, verifications.isSent]);
  for (const title of Object.values(busiest)) {
    await section(title).and(page.locator("[aria-busy=true]")).waitFor();
    expect(await section(title).getByRole("listitem").count()).toBe(0);
  }
  // These lists don't depend on the period.
  expect(await item("Issued keys that expire within 30 days", "Ending").count()).toBe(1);
  keys.release();
  verifications.release();
  await item(busiest.keys, "Gateway").waitFor();
  await item(busiest.issuedKeys, "=Acme").getByText("5 verifications").waitFor();
  await item(busiest.consumers, "customer_42").getByText("5 verifications").waitFor();
});

test("after a switch, the overview shows nothing of the former workspace while it loads", async () => {
  const { serviceAccounts, workspaces } = proceduresOf(page);
  const path = { workspaceId: workspace.id };
  const { userId } = await serviceAccounts.create.mutate({ ...path, name: "Deploys", role: "member" });
  const settings = { expiresAt: { inSeconds: 86_400 } };
  await serviceAccounts.createKey.mutate({ ...path, userId, name: "Nightly", settings });
  const globex = await workspaces.create.mutate({ name: "Globex" });
  await page.goto(`${environment.baseUrl}/w/${workspace.slug}`);
  await item("API keys that expire within 30 days", "Nightly").waitFor();
  const keys = await holdCall(page, `overview.keys\\?.*${globex.id}`);
  await page.getByRole("button", { name: /^Workspace: / }).click();
  await page.getByRole("menuitem", { name: "Globex" }).click();
  await page.getByRole("heading", { name: "Globex", level: 1 }).waitFor();
  await section("Newest members").waitFor();
  await keys.isSent;
  for (const name of ["Nightly", "Ending", "customer_42"])
    expect(await page.getByRole("main").getByText(name).count()).toBe(0);
  keys.release();
  await section("API keys that expire within 30 days").getByText("No key expires").waitFor();
});

test("a viewer sees and exports the usage, and a workspace without keyspaces shows nothing of it", async () => {
  const { page: other } = await environment.browser.open();
  await enter(other, environment.baseUrl, viewerEmail);
  const own = await getWorkspace(other);
  await environment.command([
    "member",
    "add",
    ...["--workspace", workspace.id, "--user", viewerEmail, "--role", "viewer"],
  ]);
  await other.goto(`${environment.baseUrl}/w/${workspace.slug}`);
  await other.getByRole("region", { name: "Busiest issued keys" }).getByText("Acme").waitFor();
  await other.goto(usagePath());
  await other.getByRole("region", { name: "Busiest keys" }).getByText("Acme").waitFor();
  await other.getByRole("button", { name: "Export CSV" }).click();
  const [download] = await Promise.all([
    other.waitForEvent("download"),
    other.getByRole("dialog").getByRole("button", { name: "Export", exact: true }).click(),
  ]);
  expect(await readFile(await download.path(), "utf8")).toContain(",Production,VALID,3");

  await other.goto(`${environment.baseUrl}/w/${own.slug}`);
  await other.getByRole("heading", { name: "Newest members" }).waitFor();
  expect(await other.getByText("Verifications").count()).toBe(0);
  expect(await other.getByText("issued key").count()).toBe(0);
  await other.context().close();
  await signIn(page, environment.baseUrl, "ada@example.com");
});

test("a keyspace without verifications says how to verify a key", async () => {
  const { keyspaces } = proceduresOf(page);
  const { id } = await keyspaces.create.mutate({
    workspaceId: workspace.id,
    fields: { name: "Empty", prefix: "sk_test" },
  });
  await page.goto(usagePath().replace(keyspaceId, id));
  await page.getByText("No key was verified in the last 24 hours.").first().waitFor();
  await page.getByText(`${environment.baseUrl}/open/keys/verify`).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});
