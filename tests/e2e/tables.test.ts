import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { enter, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

// Lists that grow at the end: columns, order, page size and selection are in their URLs, and selected rows change together.

let page: Page;
let slug: string;
let workspaceId: string;

const environment = prepareEnvironment(prepare, { MAX_WEBHOOKS_PER_WORKSPACE: "11" });

async function prepare({ browser, baseUrl, command }: typeof environment): Promise<void> {
  ({ page } = await browser.open({ viewport: { width: 1440, height: 900 } }));
  await enter(page, baseUrl);
  ({ id: workspaceId, slug } = await getWorkspace(page));
  for (const name of ["Grace", "Ken", "Linus"]) {
    const email = `${name.toLowerCase()}@example.com`;
    await command(["user", "create", "--email", email, "--name", name, "--password-stdin"], visitor.password);
    await command(["member", "add", "--workspace", workspaceId, "--user", email, "--role", "viewer"]);
  }
  const { invitations } = proceduresOf(page);
  for (let number = 10; number < 22; number += 1) {
    const email = `guest${number}@example.com`;
    await invitations.create.mutate({ workspaceId, email, role: "viewer" });
  }
}

const open = (path: string) => page.goto(environment.baseUrl + path);
const query = () => Object.fromEntries(new URL(page.url()).searchParams);
const rows = () => page.getByRole("table").getByRole("row");
const header = (name: string) => page.getByRole("columnheader", { name });
/** The times in a table, from the first row to the last. */
const timesIn = (table: Locator) =>
  table
    .locator("time")
    .evaluateAll((elements) => elements.map((element) => element.getAttribute("datetime") ?? ""));

async function toggleColumn(name: string, section: Page | Locator = page): Promise<void> {
  await section.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitemcheckbox", { name }).click();
  await page.keyboard.press("Escape");
}

async function choosePageSize(size: string): Promise<void> {
  await page.getByRole("combobox", { name: "Rows per page" }).click();
  await page.getByRole("option", { name: size, exact: true }).click();
}

test("keeps the columns and the order of members in the URL", async () => {
  await open(`/w/${slug}/members`);
  await header("Email address").waitFor();
  await toggleColumn("Email address");
  await header("Email address").waitFor({ state: "detached" });
  await header("Name").getByRole("button").click();
  await expect.poll(query).toEqual({ columns: "role,joinedAt", sort: "name" });
  await page.reload();
  await rows().filter({ hasText: "Linus" }).waitFor();
  expect(await header("Email address").count()).toBe(0);
});

test("shows the email address of a member below the name if its column doesn’t fit and wasn’t hidden", async () => {
  const email = page.getByRole("table").getByText("grace@example.com");
  const isBelowName = () => email.evaluate((element) => element.closest("th") !== null);
  await open(`/w/${slug}/members`);
  await header("Email address").waitFor();
  expect(await isBelowName()).toBe(false);
  await page.setViewportSize({ width: 768, height: 900 });
  await header("Email address").waitFor({ state: "detached" });
  expect(await isBelowName()).toBe(true);
  await toggleColumn("Email address");
  await email.waitFor({ state: "detached" });
  await page.setViewportSize({ width: 1440, height: 900 });
});

test("removes selected members together, but not the user, with the reason", async () => {
  const grace = await environment.browser.open();
  const data = { email: "grace@example.com", password: visitor.password };
  await grace.page.context().request.post(`${environment.baseUrl}/trpc/session.signIn`, { data });
  await grace.page.goto(environment.baseUrl);
  await proceduresOf(grace.page).apiKeys.create.mutate({ name: "Nightly build" });
  await open(`/w/${slug}/members`);
  const own = page.getByRole("checkbox", { name: "Select Ada Lovelace" });
  await own.focus();
  await page.getByRole("tooltip").getByText("You can’t remove yourself.").waitFor();
  expect(await own.getAttribute("aria-disabled")).toBe("true");
  await page.keyboard.press("Space");
  expect(await own.isChecked()).toBe(false);
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByText("3 members selected").waitFor();
  await page.getByRole("checkbox", { name: "Select Linus" }).uncheck();
  await page.reload();
  await page.getByText("2 members selected").waitFor();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Remove 2 members?" });
  await dialog.getByText("Grace, Ken", { exact: true }).waitFor();
  const impact = dialog.getByRole("region", { name: "API keys that lose access" });
  await impact.getByText("1 API key loses access to this workspace:").waitFor();
  await impact.getByRole("listitem").filter({ hasText: "Nightly build" }).getByText("Grace").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Remove 2 members" }).click();
  await page.getByText("2 members were removed.").waitFor();
  await page.getByText("2 members", { exact: true }).waitFor();
  expect(
    await rows()
      .filter({ hasText: /Grace|Ken/ })
      .count(),
  ).toBe(0);
  expect((await proceduresOf(page).members.list.query({ workspaceId })).total).toBe(2);
});

test("warns that a selected service account is deleted with its keys", async () => {
  await proceduresOf(page).serviceAccounts.create.mutate({ workspaceId, name: "Deploys", role: "viewer" });
  await open(`/w/${slug}/members`);
  await page.getByRole("checkbox", { name: "Select Linus" }).check();
  await page.getByText("1 member selected").waitFor();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  const dialog = page.getByRole("dialog");
  const warning = dialog.getByText("Service accounts are deleted with all of their API keys.");
  await dialog.getByText("Linus", { exact: true }).waitFor();
  await dialog.getByText("None of their API keys loses access.").waitFor();
  expect(await warning.count()).toBe(0);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("checkbox", { name: "Select Deploys" }).check();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await warning.waitFor();
  await dialog.getByRole("button", { name: "Remove 2 members" }).click();
  await page.getByText("2 members were removed.").waitFor();
});

test("pages and revokes invitations together", async () => {
  await open(`/w/${slug}/members/invitations`);
  await page.getByText("12 of 12 invitations").waitFor();
  await choosePageSize("10");
  await page.getByText("10 of 12 invitations").waitFor();
  await page.reload();
  await page.getByText("10 of 12 invitations").waitFor();
  expect(query()).toEqual({ size: "10" });
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByText("12 of 12 invitations").waitFor();
  await page.getByRole("checkbox", { name: "Select guest20@example.com" }).check();
  await page.getByRole("checkbox", { name: "Select guest21@example.com" }).check();
  const bar = page.getByText("2 invitations selected").locator("..");
  await bar.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("button", { name: "Revoke 2 invitations" }).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "Revoke 2 invitations" }).click();
  await page.getByText("2 invitations were revoked.").waitFor();
  await page.getByText("10 invitations", { exact: true }).waitFor();
});

test("keeps the columns, the page size and the filter of the audit log in the URL", async () => {
  await open(`/w/${slug}/audit`);
  await header("IP address").waitFor();
  await toggleColumn("IP address");
  await header("IP address").waitFor({ state: "detached" });
  await choosePageSize("10");
  await page.getByText("The latest 10 events").first().waitFor();
  await page.getByRole("combobox", { name: "Action" }).click();
  await page.getByRole("option", { name: "Invitation sent", exact: true }).click();
  await expect
    .poll(query)
    .toEqual({ columns: "what,time,request", size: "10", action: "invitation.created" });
  await page.reload();
  await page.getByText("The latest 10 events").first().waitFor();
  expect(await header("IP address").count()).toBe(0);
  expect(await rows().count()).toBe(11);
});

test("keeps the columns and the page size of the security log in the URL", async () => {
  const { apiKeys } = proceduresOf(page);
  for (let number = 0; number < 11; number += 1) await apiKeys.create.mutate({ name: `Key ${number}` });
  await open("/account/security");
  const log = page.getByRole("region", { name: "Security log" });
  await log.getByText("Created the API key “Key 10”").waitFor();
  await toggleColumn("Request ID", log);
  await choosePageSize("10");
  await expect.poll(query).toEqual({ columns: "time,actor,device,address", size: "10" });
  await page.reload();
  await expect.poll(() => log.getByRole("table").getByRole("row").count()).toBe(11);
  expect(await log.getByRole("columnheader", { name: "Request ID" }).count()).toBe(0);
  await log.getByRole("button", { name: "Show more" }).click();
  await log.getByText("Created the API key “Key 0”").waitFor();
});

test("filters the security log by event and days, independently of the sessions on the same page", async () => {
  await proceduresOf(page).account.rename.mutate({ name: "Ada Byron" });
  await proceduresOf(page).account.rename.mutate({ name: visitor.name });
  await open("/account/security?sessionSort=createdAt");
  const log = page.getByRole("region", { name: "Security log" });
  await log.getByRole("combobox", { name: "Event" }).click();
  await page.getByRole("option", { name: "Name changed" }).click();
  await log.getByText("2 events", { exact: true }).waitFor();
  await expect.poll(query).toEqual({ sessionSort: "createdAt", action: "account.renamed" });
  await log.getByLabel("From").fill("2020-01-01");
  await log.getByLabel("To", { exact: true }).fill("2020-01-31");
  await log.getByRole("heading", { name: "No event matches" }).waitFor();
  const filter = { action: "account.renamed", from: "2020-01-01", to: "2020-01-31" };
  expect(query()).toEqual({ sessionSort: "createdAt", ...filter });
  await page.getByRole("region", { name: "Sessions" }).getByRole("button", { name: "Last used" }).click();
  await expect.poll(query).toEqual({ sessionSort: "lastUsedAt", ...filter });
  await page.reload();
  await log.getByRole("heading", { name: "No event matches" }).waitFor();
  expect(await log.getByRole("combobox", { name: "Event" }).inputValue()).toBe("Name changed");
  for (const text of ["", "2019"]) await log.getByLabel("From").fill(text);
  await log.getByText("Enter a day, such as 2026-03-01.").waitFor();
  await log.getByRole("button", { name: "Clear filters" }).click();
  await log.getByText("Created the API key “Key 10”").waitFor();
  expect(query()).toEqual({ sessionSort: "lastUsedAt" });
  expect(await log.getByLabel("From").inputValue()).toBe("");
});

test.each([
  ["the audit log", () => `/w/${slug}/audit`],
  ["the security log", () => "/account/security"],
  ["the instance log", () => "/operator/log"],
])("sorts by time and keeps the order in the URL: %s", async (_log, path) => {
  await open(path());
  const log = page.getByRole("table", { name: /log$/ });
  const times = () => timesIn(log);
  const time = log.getByRole("columnheader", { name: "Time" });
  await time.and(page.locator("[aria-sort=descending]")).waitFor();
  await expect.poll(async () => (await times()).length).toBeGreaterThan(1);
  const newestFirst = await times();
  expect(newestFirst).toEqual(newestFirst.toSorted().toReversed());
  await time.getByRole("button").click();
  await expect.poll(query).toMatchObject({ sort: "occurredAt" });
  await page.reload();
  await time.and(page.locator("[aria-sort=ascending]")).waitFor();
  await expect.poll(times).not.toEqual([]);
  const oldestFirst = await times();
  expect(oldestFirst).toEqual(oldestFirst.toSorted());
  expect(oldestFirst[0]).not.toBe(newestFirst[0]);
  await time.getByRole("button").click();
  await expect.poll(query).not.toHaveProperty("sort");
});

test("sorts sessions, chooses their columns and ends selected ones, independently of the log on the same page", async () => {
  const devices = ["Macintosh; Intel Mac OS X 10_15_7", "Windows NT 10.0; Win64; x64", "X11; Linux x86_64"];
  for (const device of devices) {
    const data = { email: visitor.email, password: visitor.password };
    const userAgent = `Mozilla/5.0 (${device}; rv:140.0) Gecko/20100101 Firefox/140.0`;
    const { page: other } = await environment.browser.open({ userAgent });
    const response = await other.context().request.post(`${environment.baseUrl}/trpc/session.signIn`, {
      data,
      headers: { "user-agent": userAgent },
    });
    expect(response.ok()).toBe(true);
  }
  await open("/account/security?columns=time");
  const sessions = page.getByRole("region", { name: "Sessions" });
  const names = () => sessions.getByRole("rowheader").allTextContents();
  await expect.poll(names).toHaveLength(4);
  await sessions.getByRole("columnheader", { name: "Device" }).getByRole("button").click();
  await sessions.getByRole("columnheader", { name: "Device" }).getByRole("button").click();
  await expect.poll(query).toEqual({ columns: "time", sessionSort: "-device" });
  await toggleColumn("IP address", sessions);
  await expect.poll(query).toMatchObject({ columns: "time", sessionColumns: "lastUsedAt,createdAt" });
  await page.reload();
  await expect
    .poll(names)
    .toEqual([
      "Firefox 140 on Windows",
      "Firefox 140 on macOS",
      "Firefox 140 on Linux",
      expect.stringMatching(/This session$/),
    ]);
  expect(await sessions.getByRole("columnheader", { name: "IP address" }).count()).toBe(0);
  await open("/account/security?sessionSearch=windows");
  await expect.poll(names).toEqual(["Firefox 140 on Windows"]);
  await sessions.getByRole("searchbox").fill("nothing");
  await sessions.getByRole("heading", { name: "No session matches “nothing”" }).waitFor();
  expect(query()).toEqual({ sessionSearch: "nothing" });
  await sessions.getByRole("button", { name: "Clear search" }).click();
  await expect.poll(names).toHaveLength(4);
  await sessions.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByText("3 sessions selected").waitFor();
  await sessions.getByRole("checkbox", { name: "Select Firefox 140 on Linux" }).uncheck();
  await page.reload();
  await page.getByText("2 sessions selected").waitFor();
  await page.getByRole("button", { name: "End", exact: true }).last().click();
  await page.getByRole("button", { name: "End 2 sessions" }).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "End 2 sessions" }).click();
  await page.getByText("2 sessions were ended.").waitFor();
  await expect.poll(names).toHaveLength(2);
  expect(query()).not.toHaveProperty("selectedSessions");
});

test("searches webhooks and filters them by status, in the URL", async () => {
  for (const path of ["siem", "chat"]) {
    const url = `https://hooks.example.com/${path}`;
    await proceduresOf(page).webhooks.create.mutate({ workspaceId, url, actions: ["webhook.deleted"] });
  }
  await environment.change("update webhooks set failing_since = now() where url like '%chat'");
  await open(`/w/${slug}/webhooks`);
  await page.getByText("2 webhooks", { exact: true }).waitFor();
  await page.getByRole("combobox", { name: "Status" }).click();
  await page.getByRole("option", { name: "Failing" }).click();
  await page.getByText("1 webhook", { exact: true }).waitFor();
  expect(query()).toEqual({ status: "failing" });
  await page.getByRole("searchbox", { name: "Search webhooks" }).fill("siem");
  await page.getByRole("heading", { name: "No webhook matches" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "No webhook matches" }).waitFor();
  expect(query()).toEqual({ status: "failing", q: "siem" });
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByText("2 webhooks", { exact: true }).waitFor();
  expect(query()).toEqual({});
  const { items } = await proceduresOf(page).webhooks.list.query({ workspaceId });
  for (const { id } of items) await proceduresOf(page).webhooks.delete.mutate({ workspaceId, id });
});

test("searches invitations and filters them by status, in the URL", async () => {
  await environment.change("update invitations set expires_at = now() where email = 'guest10@example.com'");
  // Grace is no longer a member, so nobody can accept these invitations.
  await environment.change(`
    update invitations set invited_by = (select id from users where email = 'grace@example.com')
    where email in ('guest11@example.com', 'guest12@example.com')`);
  await open(`/w/${slug}/members/invitations`);
  await page.getByText("10 invitations", { exact: true }).waitFor();
  const choose = async (status: string) => {
    await page.getByRole("combobox", { name: "Status" }).click();
    await page.getByRole("option", { name: status }).click();
  };
  for (const [label, status, count, email] of [
    ["Pending", "pending", "7 invitations", "guest13@example.com"],
    ["Expired", "expired", "1 invitation", "guest10@example.com"],
    ["No longer valid", "invalid", "2 invitations", "guest12@example.com"],
  ] as const) {
    await choose(label);
    await page.getByText(count, { exact: true }).waitFor();
    await rows().filter({ hasText: email }).waitFor();
    expect(query()).toEqual({ status });
  }
  await page.getByRole("searchbox", { name: "Search invitations" }).fill("GUEST12");
  await page.getByText("1 invitation", { exact: true }).waitFor();
  await page.reload();
  await page.getByText("1 invitation", { exact: true }).waitFor();
  await rows().filter({ hasText: "guest12@example.com" }).getByText("No longer valid").waitFor();
  expect(await page.getByRole("combobox", { name: "Status" }).inputValue()).toBe("No longer valid");
  expect(await page.getByRole("searchbox", { name: "Search invitations" }).inputValue()).toBe("GUEST12");
  expect(query()).toEqual({ status: "invalid", q: "GUEST12" });
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("searchbox", { name: "Search invitations" }).fill("guest13");
  await page.getByRole("heading", { name: "No invitation matches “guest13”" }).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByText("10 invitations", { exact: true }).waitFor();
  expect(query()).toEqual({});
});

test("filters users by status and operator role, in the URL", async () => {
  await environment.command(["user", "disable", "linus@example.com"]);
  await open("/operator/users");
  await page.getByRole("combobox", { name: "Status" }).click();
  await page.getByRole("option", { name: "Disabled" }).click();
  await page.getByText("1 user", { exact: true }).waitFor();
  await rows().filter({ hasText: "Linus" }).waitFor();
  await page.getByRole("combobox", { name: "Role" }).click();
  await page.getByRole("option", { name: "Operators only" }).click();
  await page.getByRole("heading", { name: "No user matches" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "No user matches" }).waitFor();
  expect(query()).toEqual({ status: "disabled", role: "operator" });
  await page.getByRole("button", { name: "Clear filters" }).click();
  await rows().filter({ hasText: "Ada Lovelace" }).waitFor();
  expect(query()).toEqual({});
  await environment.command(["user", "enable", "linus@example.com"]);
});

describe("lists with more rows than the smallest page", () => {
  const count = 11;
  let accountId: string;
  let webhookId: string;

  beforeAll(async () => {
    // With Ada, Grace, Ken and Linus. Each user has a workspace.
    for (let number = 4; number < count; number += 1) {
      const body = JSON.stringify({ ...visitor, email: `user${number}@example.com` });
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${environment.baseUrl}/trpc/session.signUp`, {
        method: "POST",
        headers,
        body,
      });
      expect(response.status).toBe(200);
    }
    const procedures = proceduresOf(page);
    for (let number = 0; number < count; number += 1) {
      const url = `https://hooks.example.com/${number}`;
      ({ id: webhookId } = await procedures.webhooks.create.mutate({
        workspaceId,
        url,
        actions: ["webhook.deleted"],
      }));
      const account = { workspaceId, name: `Robot ${number}`, role: "viewer" as const };
      ({ userId: accountId } = await procedures.serviceAccounts.create.mutate(account));
    }
    for (let number = 0; number < count; number += 1) {
      await procedures.webhooks.test.mutate({ workspaceId, id: webhookId });
      await procedures.serviceAccounts.createKey.mutate({
        workspaceId,
        userId: accountId,
        name: `Key ${number}`,
      });
    }
  });

  const serviceAccounts = () => `/w/${slug}/members/service-accounts`;
  const webhooks = () => `/w/${slug}/webhooks`;

  test.each([
    {
      label: "Users",
      path: () => "/operator/users",
      sort: "-createdAt",
      shown: "10 of 11 users",
      title: "Email address",
      columns: "email,createdAt",
    },
    {
      label: "Workspaces",
      path: () => "/operator/workspaces",
      sort: "-createdAt",
      shown: "10 of 11 workspaces",
      title: "Slug",
      columns: "slug,createdAt",
    },
    {
      label: "Webhooks",
      path: webhooks,
      sort: "-createdAt",
      shown: "10 of 11 webhooks",
      title: "Status",
      columns: "status,createdAt",
    },
    {
      label: "Deliveries",
      path: () => `${webhooks()}/${webhookId}`,
      sort: "createdAt",
      shown: "The oldest 10 deliveries",
      title: "Status",
      columns: "status,createdAt",
    },
    {
      label: "Service accounts",
      path: serviceAccounts,
      sort: "-joinedAt",
      shown: "10 of 11 service accounts",
      title: "Role",
      columns: undefined, // With both columns, which is the default.
    },
    {
      label: "API keys of the service account",
      path: () => `${serviceAccounts()}/${accountId}`,
      sort: "createdAt",
      shown: "1–10 of 11 keys",
      title: "Status",
      columns: "status,createdAt",
    },
  ])(
    "reads the columns, the order and the page size from the URL, and writes them to it: $label",
    async ({ label, path, sort, shown, title, columns }) => {
      const table = page.getByRole("table", { name: label, exact: true });
      const inOrder = (times: readonly string[], isDescending: boolean) =>
        isDescending ? times.toSorted().toReversed() : times.toSorted();
      const isDescending = sort.startsWith("-");
      await open(`${path()}?columns=createdAt&size=10&sort=${sort}`);
      await expect.poll(() => timesIn(table)).toHaveLength(10);
      const before = await timesIn(table);
      expect(before).toEqual(inOrder(before, isDescending));
      await page.getByText(shown).first().waitFor();
      expect(await table.getByRole("columnheader", { name: title }).count()).toBe(0);
      await toggleColumn(title);
      await table.getByRole("columnheader", { name: title }).waitFor();
      await expect.poll(query).toEqual({ columns, size: "10", sort });
      await table
        .getByRole("columnheader", { name: /^(Created|Time)$/ })
        .getByRole("button")
        .click();
      await expect.poll(() => timesIn(table)).not.toEqual(before);
      const after = await timesIn(table);
      expect(after).toEqual(inOrder(after, !isDescending));
      expect(query()).toEqual({ columns, size: "10" });
      await choosePageSize("25");
      await expect.poll(() => timesIn(table)).toHaveLength(count);
      expect(query()).toEqual({ columns, size: "25" });
    },
  );

  test("shows a workspace once if its size changes between two pages", async () => {
    const slugs = page.getByRole("table", { name: "Workspaces" }).locator("code");
    await open("/operator/workspaces?columns=slug,memberCount&size=10&sort=memberCount");
    await page.getByText("10 of 11 workspaces").waitFor();
    const firstPage = await slugs.allInnerTexts();
    expect(firstPage).toHaveLength(10);
    // The smallest workspace becomes the largest one, so the next page ends with it.
    await environment.change(`
      insert into members (workspace_id, user_id, role)
      select workspaces.id, users.id, 'viewer' from workspaces, users
      where '/w/' || slug = '${firstPage[0]}' and service_workspace_id is null
      on conflict do nothing`);
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByText("11 of 11 workspaces").waitFor();
    const shown = await slugs.allInnerTexts();
    expect(shown.slice(0, 10)).toEqual(firstPage);
    expect(shown).toHaveLength(11);
    expect(new Set(shown).size).toBe(11);
    await page.reload();
    await expect.poll(() => slugs.allInnerTexts()).not.toContain(firstPage[0]);
    await page.getByRole("button", { name: "Show more" }).click();
    await expect.poll(async () => (await slugs.allInnerTexts()).at(-1)).toBe(firstPage[0]);
  });
});
