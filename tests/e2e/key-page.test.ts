import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import type { OpenPage } from "../support/browser.ts";
import { toUuid } from "../support/inspection.ts";
import { scrollUntil } from "../support/scroll-until.ts";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { failCalls } from "./fail-calls.ts";
import { untilFocused } from "./until-focused.ts";

const environment = prepareEnvironment();

interface Start {
  readonly page: Page;
  readonly complaints: readonly string[];
  readonly id: string;
  readonly key: string;
}

/** Signs up a user and opens the page of a key with these settings. */
async function openKey(
  name: string,
  settings: object = {},
  open: () => Promise<OpenPage> = environment.browser.reopen,
): Promise<Start> {
  const { page, complaints } = await open();
  await enter(page, environment.baseUrl, `${name}@example.com`);
  const { id, key } = await proceduresOf(page).apiKeys.create.mutate({ name: "Deploy pipeline", settings });
  await page.goto(`${environment.baseUrl}/account/api-keys/${id}`);
  await page.getByRole("heading", { name: "Deploy pipeline", level: 1 }).waitFor();
  return { page, complaints, id, key };
}

/** Returns the status of a request to the open API. */
async function call(key: string, path = "/open/global/config", options: RequestInit = {}): Promise<number> {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...options.headers };
  const response = await fetch(`${environment.baseUrl}${path}`, { ...options, headers });
  await response.arrayBuffer();
  return response.status;
}

/** Renames a workspace with a key and returns the status. */
async function rename(key: string, workspaceId: string, name: string): Promise<number> {
  return await call(key, `/open/workspaces/${workspaceId}`, {
    method: "PATCH",
    body: JSON.stringify({ name }),
  });
}

const dialogOf = (page: Page) => page.getByRole("dialog");
const section = (page: Page, name: string) => page.getByRole("region", { name });

test("restricts a key to reading, and asks before its access is expanded again", async () => {
  const { page, complaints, key } = await openKey("narrow");
  const { id: workspaceId } = await getWorkspace(page);
  expect(await rename(key, workspaceId, "Before")).toBe(200);

  const restrictions = section(page, "Restrictions");
  await restrictions.getByRole("button", { name: "Edit restrictions" }).click();
  await untilFocused(page.getByRole("form", { name: "Restrictions" }));
  await restrictions.getByRole("checkbox", { name: "Read only" }).check();
  await restrictions.getByRole("button", { name: "Save restrictions" }).click();
  await restrictions.getByRole("definition").getByText("Read only").waitFor();
  expect(await rename(key, workspaceId, "Meanwhile")).toBe(403);
  expect(await call(key, `/open/workspaces/${workspaceId}`)).toBe(200);

  const expandAccess = async () => {
    await restrictions.getByRole("button", { name: "Edit restrictions" }).click();
    await restrictions.getByRole("checkbox", { name: "Read only" }).uncheck();
    await restrictions.getByRole("button", { name: "Save restrictions" }).click();
    await dialogOf(page).getByRole("heading", { name: "Expand this key’s access?" }).waitFor();
  };
  await expandAccess();
  expect(await dialogOf(page).textContent()).toContain("No, it can also change data");
  await dialogOf(page).getByRole("button", { name: "Cancel" }).click();
  await dialogOf(page).waitFor({ state: "detached" });
  expect(await rename(key, workspaceId, "Not yet")).toBe(403);
  await restrictions.getByRole("button", { name: "Cancel" }).click();

  await expandAccess();
  await dialogOf(page).getByRole("button", { name: "Expand access" }).click();
  await restrictions.getByRole("definition").getByText("All permissions of your role").waitFor();
  await restrictions.getByRole("button", { name: "Edit restrictions" }).and(page.locator(":focus")).waitFor();
  expect(await rename(key, workspaceId, "After")).toBe(200);
  // The browser reports the two responses that required a confirmation.
  expect(complaints.filter((complaint) => !complaint.includes("422"))).toEqual([]);
});

test("creates a key that is restricted from its first request", async () => {
  const { page } = await openKey("restricted-from-creation");
  await page.setViewportSize({ width: 1600, height: 900 });
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("button", { name: "New API key" }).click();
  const dialog = dialogOf(page);
  await untilFocused(dialog);
  await dialog.getByLabel("Name", { exact: true }).fill("Deployment");
  await dialog.getByRole("button", { name: "Restrict this key" }).click();
  // A choice that is changed back keeps what was selected.
  for (const [all, selected, item] of [
    [/^All permissions/, "Selected permissions", "members:read"],
    [/^All workspaces/, "Selected workspaces", "Ada Lovelace’s workspace"],
  ] as const) {
    await dialog.getByRole("radio", { name: selected }).check();
    await dialog.getByRole("checkbox", { name: item }).check();
    await dialog.getByRole("radio", { name: all }).check();
    await dialog.getByRole("checkbox", { name: item }).waitFor({ state: "detached" });
    await dialog.getByRole("radio", { name: selected }).check();
    expect(await dialog.getByRole("checkbox", { name: item }).isChecked()).toBe(true);
    await dialog.getByRole("radio", { name: all }).check();
  }
  await dialog.getByLabel("IP ranges").fill("nowhere\n203.0.113.0/24");
  // A complete line is checked while the next line is typed.
  await dialog.getByText("Not an IP address or range: line 1 (nowhere).").waitFor();
  // The last line is checked after a pause, without leaving the field.
  await dialog.getByLabel("IP ranges").fill("elsewhere");
  await dialog.getByText("Not an IP address or range: line 1 (elsewhere).").waitFor();
  await dialog.getByLabel("IP ranges").and(page.locator(":focus")).waitFor();
  // A click outside the dialog keeps the input.
  await page.mouse.click(5, 400);
  await page.getByRole("button", { name: "Keep editing" }).click();
  await dialog.getByLabel("Rate limit", { exact: true }).fill("2");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByLabel("IP ranges").and(page.locator(":focus")).waitFor();
  await dialog.getByLabel("IP ranges").fill("127.0.0.0/8\n::1");
  await dialog.getByRole("button", { name: "Create key" }).click();
  const field = dialog.getByRole("textbox", { name: "API key" });
  const key = await field.inputValue();
  expect([await call(key), await call(key), await call(key)]).toEqual([200, 200, 429]);
  await dialog.getByRole("button", { name: "Copy API key" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await page
    .getByRole("row")
    .filter({ hasText: "Deployment" })
    .getByText("2 IP ranges; 2 requests per minute")
    .waitFor();
  await page.getByRole("link", { name: "Deployment" }).click();
  await section(page, "Restrictions").getByText("2 requests per minute").waitFor();
  await page.getByRole("img", { name: "2 allowed, 1 rate limited, 0 rejected" }).waitFor();
});

test("saves an edit only if the key still has the version that was shown, and otherwise keeps it and shows what changed", async () => {
  const { page, id } = await openKey("conflict");
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await dialogOf(page).getByLabel("Name", { exact: true }).fill("Mine");
  await proceduresOf(page).apiKeys.update.mutate({ id, version: 1, name: "Theirs", description: "Kept" });
  await dialogOf(page).getByRole("button", { name: "Save" }).click();
  const conflict = page.getByRole("alert").filter({ hasText: "The API key was changed in another window" });
  await conflict.and(page.locator(":focus")).getByText("Theirs").waitFor();
  expect(await dialogOf(page).getByLabel("Name", { exact: true }).inputValue()).toBe("Mine");
  expect(await dialogOf(page).getByLabel("Description").inputValue()).toBe("Kept");
  await dialogOf(page).getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Mine", level: 1 }).waitFor();
  const saved = await proceduresOf(page).apiKeys.get.query({ id });
  expect(saved).toMatchObject({ name: "Mine", description: "Kept" });

  await page.getByRole("button", { name: "Edit restrictions" }).click();
  const form = page.getByRole("form", { name: "Restrictions" });
  await untilFocused(form);
  const limit = form.getByLabel("Rate limit", { exact: true });
  await limit.fill("7");
  const settings = { isReadOnly: true };
  const changed = await proceduresOf(page).apiKeys.update.mutate({ id, version: saved.version, settings });
  // The current version can't be loaded after the first attempt.
  await failCalls(page, "apiKeys.get");
  await form.getByRole("button", { name: "Save restrictions" }).click();
  await form.getByText("Someone changed the key at the same time. Your changes weren’t saved.").waitFor();
  await page.unrouteAll();
  await form.getByRole("button", { name: "Save restrictions" }).click();
  await conflict.getByText("read").waitFor();
  expect(await limit.inputValue()).toBe("7");
  await form.getByRole("button", { name: "Save restrictions" }).click();
  await page.getByRole("button", { name: "Edit restrictions" }).waitFor();
  expect(await proceduresOf(page).apiKeys.get.query({ id })).toMatchObject({
    version: changed.version + 1,
    isReadOnly: true,
    limit: { quota: 7 },
  });
});

test("rotates a key with an overlap, and revokes the old secret", async () => {
  const { page, complaints, id, key: old } = await openKey("rotate");
  await page.getByRole("button", { name: "Rotate" }).click();
  await untilFocused(dialogOf(page));
  await dialogOf(page).getByRole("radio", { name: "Custom duration" }).check();
  const duration = dialogOf(page).getByRole("textbox", { name: "Duration" });
  await duration.fill("721");
  await duration.press("Enter");
  await dialogOf(page).getByText("Enter a whole number of hours from 0 to 720.").waitFor();
  await duration.fill("36");
  await duration.press("Enter");
  const key = await dialogOf(page).getByRole("textbox", { name: "API key" }).inputValue();
  expect(key).not.toBe(old);
  await dialogOf(page).getByRole("button", { name: "Copy API key" }).click();
  await dialogOf(page).getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Rotate", exact: true }).and(page.locator(":focus")).waitFor();
  expect(await page.content()).not.toContain(key);
  expect([await call(old), await call(key)]).toEqual([200, 200]);
  await section(page, "Status").getByText("This key is being rotated.").waitFor();

  const secrets = section(page, "Secrets");
  const former = secrets.getByRole("listitem").filter({ hasText: old.slice(0, 9) });
  await former.getByText("Last used").waitFor();
  const apiKey = await proceduresOf(page).apiKeys.get.query({ id });
  const [overlap] = apiKey.formerSecrets.map(
    ({ retiredAt, goodUntil }) => (Date.parse(goodUntil) - Date.parse(retiredAt)) / 3_600_000,
  );
  expect(overlap).toBeCloseTo(36, 3);
  expect(await former.textContent()).toMatch(/valid until .*\d{4}/);
  await secrets.getByRole("button", { name: "Revoke old secret" }).click();
  await dialogOf(page).getByText("Last used").waitFor();
  await dialogOf(page).getByRole("button", { name: "Revoke" }).click();
  await former.waitFor({ state: "detached" });
  await page.locator("#content:focus").waitFor();
  expect([await call(old), await call(key)]).toEqual([403, 200]);
  const notice = section(page, "Old secret used");
  await notice.getByText("127.0.0.1").waitFor();
  expect(complaints).toEqual([]);
});

test("explains a rejected request by its ID, on the key's page and in the search", async () => {
  const { page, complaints, key } = await openKey("explain", { ipRanges: ["203.0.113.0/24"] });
  const requestId = "nightly-job-0042";
  expect(await call(key, "/open/me", { headers: { "X-Request-Id": requestId } })).toBe(403);

  const reason =
    "The key is restricted to IP ranges, and the request came from an IP address outside those ranges.";
  const rejected = page.getByRole("row").filter({ hasText: requestId });
  await scrollUntil(rejected.getByText(reason));
  await rejected.getByText("GET /open/me").waitFor();
  await rejected.getByText("127.0.0.1").waitFor();
  await section(page, "Usage").getByText("IP address not allowed").waitFor();

  const look = async (text: string) => {
    await page.getByRole("button", { name: "Search or jump to" }).click();
    const search = page.getByRole("dialog", { name: "Search" });
    await search.getByRole("combobox").fill(text);
    await search.getByRole("option", { name: `Why was request ${text} rejected?`, selected: true }).waitFor();
    await search.getByRole("combobox").press("Enter");
    await page.waitForURL(`**/account/requests/${text}`);
  };
  await rejected.getByRole("link", { name: requestId }).click();
  await page.waitForURL(`**/account/requests/${requestId}`);
  // The explanation links to the setting that would allow the request.
  await page.getByRole("link", { name: "Change the IP ranges" }).click();
  await page
    .getByRole("form", { name: "Restrictions" })
    .getByLabel("IP ranges")
    .and(page.locator(":focus"))
    .waitFor();
  await look(requestId);
  await page.getByText(reason).waitFor();
  await page.getByText("GET /open/me").waitFor();
  await page.getByRole("link", { name: "Deploy pipeline" }).click();
  await page.getByRole("heading", { name: "Deploy pipeline", level: 1 }).waitFor();
  await look("some-other-0043");
  await page.getByText("No rejected request with this ID").waitFor();
  expect(complaints).toEqual([]);
});

test("keeps a form and the filters of the list when the search opens the page that is open", async () => {
  const { page } = await openKey("search");
  const choose = async (text: string, option: string) => {
    await page.getByRole("button", { name: "Search or jump to" }).click();
    const search = page.getByRole("dialog", { name: "Search" });
    await search.getByRole("combobox").fill(text);
    await search.getByRole("option", { name: option, selected: true }).waitFor();
    await search.getByRole("combobox").press("Enter");
    await search.waitFor({ state: "detached" });
  };
  await page.getByRole("button", { name: "Edit restrictions" }).click();
  await page.getByRole("checkbox", { name: "Read only" }).check();
  await choose("deploy", "Deploy pipeline");
  expect(new URL(page.url()).search).toBe("?edit=restrictions");
  expect(await page.getByRole("checkbox", { name: "Read only" }).isChecked()).toBe(true);

  await page.goto(`${environment.baseUrl}/account/api-keys?q=deploy&status=active`);
  await page.getByRole("link", { name: "Deploy pipeline" }).waitFor();
  await choose("new api", "New API key");
  await page.getByRole("dialog", { name: "New API key" }).waitFor();
  await page.waitForURL(/\/account\/api-keys\?q=deploy&status=active$/);
});

test("links each explained rejection to the setting that would allow the request", async () => {
  const { page, id } = await openKey("remedies");
  const remedies = {
    limited: "Change the rate limit",
    disabled: "Enable the key",
    expired: "Change the expiry",
    "rotated-out": "Rotate the key",
    address: "Change the IP ranges",
    narrowed: "Change the restrictions",
    "workspace-not-in-key": "Change the workspaces",
    policy: "See what the workspace requires",
    "permission-not-in-key": "Change the permissions",
    "no-permission": undefined,
  };
  await environment.change(
    `insert into key_refusals (key_id, id, occurred_at, method, path, request_id, reason)
     select '${toUuid(id)}', gen_random_uuid(), now(), 'GET', '/open/me', 'because-' || reason, reason
     from unnest(array['${Object.keys(remedies).join("', '")}']) reason`,
  );
  const shown: Record<string, string | undefined> = {};
  for (const reason of Object.keys(remedies)) {
    await page.goto(`${environment.baseUrl}/account/requests/because-${reason}`);
    await page.getByText("GET /open/me").waitFor();
    const links = page.getByRole("main").getByRole("link", { name: /^(Change|Enable|Rotate|See) / });
    shown[reason] = (await links.allTextContents())[0];
    if (shown[reason] !== undefined) expect(await links.getAttribute("href")).toContain(id);
  }
  expect(shown).toEqual(remedies);
});

test("explains a rejected request of a deleted key, without a link to its page", async () => {
  const { page, id, key } = await openKey("explain-deleted");
  await proceduresOf(page).apiKeys.delete.mutate({ id });
  const requestId = "nightly-job-0044";
  expect(await call(key, "/open/me", { headers: { "X-Request-Id": requestId } })).toBe(403);
  await page.goto(`${environment.baseUrl}/account/requests/${requestId}`);
  await page.getByText("The key was deleted.").waitFor();
  await page.getByRole("definition").getByText("Deploy pipeline").waitFor();
  expect(await page.getByRole("link", { name: "Deploy pipeline" }).count()).toBe(0);
});

test("explains a rejected request only to the owner of the key", async () => {
  const { page } = await openKey("stranger");
  await page.goto(`${environment.baseUrl}/account/requests/nightly-job-0042`);
  await page.getByText("No rejected request with this ID").waitFor();
});

test("disables a key until it is enabled again", async () => {
  const { page, key } = await openKey("disable");
  await page.getByRole("button", { name: "Disable key" }).click();
  await dialogOf(page).getByRole("button", { name: "Disable key", exact: true }).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialogOf(page).getByRole("button", { name: "Disable key", exact: true }).click();
  await page.getByText("Disabled", { exact: true }).waitFor();
  const status = section(page, "Status");
  await status.getByText("This key is disabled.").waitFor();
  expect(await call(key)).toBe(403);
  // The banner offers it too.
  await status.getByRole("button", { name: "Enable" }).click();
  await dialogOf(page).getByRole("button", { name: "Cancel" }).click();
  await status.getByRole("button", { name: "Enable" }).and(page.locator(":focus")).waitFor();
  await page.getByRole("button", { name: "Enable key" }).click();
  await dialogOf(page).getByText("Enable “Deploy pipeline”?").waitFor();
  await dialogOf(page).getByText("Requests with this key are allowed again immediately").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialogOf(page).getByRole("button", { name: "Enable key" }).click();
  await page.getByRole("button", { name: "Disable key" }).and(page.locator(":focus")).waitFor();
  await status.waitFor({ state: "detached" });
  expect(await call(key)).toBe(200);
});

test("offers to change the expiry of an expired key", async () => {
  // A page of its own, because its clock can't be set back.
  const { page } = await openKey("expired", { expiresAt: { inSeconds: 3_600 } }, environment.browser.open);
  await page.clock.setSystemTime(Date.now() + 2 * 3_600_000);
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("link", { name: "Deploy pipeline" }).click();
  const status = section(page, "Status");
  await status.getByText("This key expired").waitFor();
  await status.getByRole("link", { name: "Change the expiry" }).click();
  await untilFocused(page.getByRole("form", { name: "Restrictions" }));
  const limit = page.getByLabel("Rate limit", { exact: true });
  await limit.fill("5");
  await page.goBack();
  await page.getByRole("dialog", { name: "Discard unsaved changes?" }).getByText("Keep editing").click();
  expect(await limit.inputValue()).toBe("5");
});

test("shows no previous failure when a confirmation is opened again", async () => {
  const { page } = await openKey("again");
  await page.getByRole("button", { name: "Rotate" }).click();
  await dialogOf(page).getByRole("radio", { name: "1 hour" }).check();
  await dialogOf(page).getByRole("button", { name: "Rotate key" }).click();
  await dialogOf(page).getByRole("button", { name: "Copy API key" }).click();
  await dialogOf(page).getByRole("button", { name: "Done" }).click();
  await page.route("**/trpc/apiKeys.*", (route) =>
    route.request().method() === "POST" ? route.abort() : route.continue(),
  );
  for (const action of ["Revoke old secret", "Disable key", "Delete key"]) {
    const open = () => page.getByRole("button", { name: action, exact: true }).click();
    await open();
    const answer = dialogOf(page).getByRole("button", { name: action, exact: true });
    await answer.click();
    await dialogOf(page).getByRole("alert").waitFor();
    await dialogOf(page).getByRole("button", { name: "Cancel" }).click();
    await dialogOf(page).waitFor({ state: "detached" });
    await open();
    await answer.waitFor();
    expect(await dialogOf(page).getByRole("alert").count(), action).toBe(0);
    await dialogOf(page).getByRole("button", { name: "Cancel" }).click();
    await dialogOf(page).waitFor({ state: "detached" });
  }
});

test("shows a key's restrictions in the list, even if its name is long", async () => {
  const { page, id } = await openKey("long", {
    isDisabled: true,
    isReadOnly: true,
    ipRanges: ["192.0.2.0/24"],
  });
  const words = { name: "Long ".repeat(20).trim(), description: "Told of at length. ".repeat(9).trim() };
  await proceduresOf(page).apiKeys.update.mutate({ id, ...words });
  await page.setViewportSize({ width: 1600, height: 900 });
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  const cells = page.getByRole("row").filter({ hasText: "Long Long" }).getByRole("cell");
  for (const text of ["Disabled", "Read only; 1 IP range"]) {
    const shown = cells.getByText(text, { exact: true });
    const [right, edge] = await shown.evaluate((node) =>
      [node, node.closest("td") ?? node].map((element) => element.getBoundingClientRect().right),
    );
    expect(right, text).toBeLessThan((edge ?? 0) + 1);
  }
});

test("shows how a request with a key would be decided, and stores the key nowhere", async () => {
  const { page, id, key } = await openKey("try", {
    isReadOnly: true,
    ipRanges: ["127.0.0.0/8"],
    limit: { quota: 40, windowSeconds: 86_400 },
  });
  expect(await call(key)).toBe(200);
  const { id: workspaceId } = await getWorkspace(page);
  // The key's page needs no secret.
  const form = page.getByRole("form", { name: "Try this key" });
  await page.getByRole("button", { name: "Try a request" }).press("Enter");
  await form.getByRole("combobox", { name: "Method" }).and(page.locator(":focus")).waitFor();
  expect(await form.getByLabel("API key", { exact: true }).count()).toBe(0);
  await form.getByRole("button", { name: "Try it" }).click();
  await form.getByText("The key is valid for this request.").waitFor();
  await form.getByText("39", { exact: true }).waitFor();
  // Without an IP address, the user's own one counts.
  await form.getByLabel("IP address").fill("nowhere");
  await form.getByRole("button", { name: "Try it" }).click();
  await form.getByText("Enter an IP address, for example 203.0.113.7.").waitFor();
  await form.getByLabel("IP address").fill("203.0.113.7");
  await form.getByRole("button", { name: "Try it" }).click();
  await form.getByText("the request came from an IP address outside those ranges").waitFor();
  await form.getByLabel("IP address").fill("");
  await form.getByRole("combobox", { name: "Method" }).click();
  await page.getByRole("option", { name: "PATCH" }).click();
  await form.getByLabel("Path").fill(`/open/workspaces/${workspaceId}`);
  await form.getByRole("button", { name: "Try it" }).click();
  await form.getByText("the key is restricted to other permissions").waitFor();
  await form.getByText("workspace:update").waitFor();
  expect(page.url()).toBe(`${environment.baseUrl}/account/api-keys/${id}`);
  await page.reload();
  await section(page, "Details").getByRole("definition").getByText("1", { exact: true }).waitFor();
});

test("shows that a key without a rate limit is valid, from the list of keys", async () => {
  const { page, key } = await openKey("try-free");
  // The form fills a low window, such as that of a phone with a keyboard, and the answer scrolls into view.
  const viewport = { width: 375, height: 360 };
  await page.setViewportSize(viewport);
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("button", { name: "Try it" }).click();
  await dialogOf(page).getByLabel("API key", { exact: true }).fill(key);
  await dialogOf(page).getByLabel("API key", { exact: true }).press("Enter");
  const answer = dialogOf(page).getByText("The key is valid for this request.");
  await answer.waitFor();
  const bottomOf = async () => {
    const box = await answer.boundingBox();
    return box ? box.y + box.height : Number.POSITIVE_INFINITY;
  };
  await expect.poll(bottomOf).toBeLessThanOrEqual(viewport.height);
  await page.keyboard.press("Escape");
  await dialogOf(page).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Try it" }).click();
  expect(await dialogOf(page).getByLabel("API key", { exact: true }).inputValue()).toBe("");
});

test("deletes a key from its page, which then no longer exists", async () => {
  const { page, id, key } = await openKey("delete");
  await page.getByRole("button", { name: "Delete key" }).click();
  await dialogOf(page).getByRole("button", { name: "Delete key", exact: true }).click();
  await page.getByText("No API keys yet").waitFor();
  expect(await call(key)).toBe(403);
  await page.goto(`${environment.baseUrl}/account/api-keys/${id}`);
  await page.getByText("Key not found").waitFor();
});

test("deletes a key without a question about unsaved restrictions, which can no longer be saved", async () => {
  const { page } = await openKey("delete-unsaved");
  await page.getByRole("button", { name: "Edit restrictions" }).click();
  await page.getByRole("checkbox", { name: "Read only" }).check();
  await page.getByRole("button", { name: "Delete key" }).click();
  await dialogOf(page).getByRole("button", { name: "Delete key", exact: true }).click();
  await page.getByText("No API keys yet").waitFor();
});

test("pages and filters rejected requests, and keeps the state of their table in the URL", async () => {
  const { page, key, id } = await openKey("rejected", {
    ipRanges: ["203.0.113.0/24"],
    limit: { quota: 1, windowSeconds: 86_400 },
  });
  // Rejections are written in the background, possibly in two writes.
  const untilStored = async (count: number) => {
    const { keyHistory } = proceduresOf(page);
    await expect.poll(async () => (await keyHistory.refusals.query({ id })).length).toBe(count);
  };
  for (let count = 0; count < 12; count += 1) await call(key, "/open/me");
  await untilStored(12);
  const rejected = section(page, "Rejected and rate-limited requests");
  await scrollUntil(rejected.getByText("Page 1 of 2"));
  expect(await rejected.getByRole("row").count()).toBe(11);
  await rejected.getByRole("button", { name: "Next page" }).click();
  await rejected.getByText("Page 2 of 2").waitFor();
  expect(await rejected.getByRole("row").count()).toBe(3);
  // With one reason, there is no filter.
  expect(await rejected.getByRole("combobox", { name: "Reason" }).count()).toBe(0);

  await rejected.getByRole("columnheader", { name: "IP address" }).waitFor();
  await rejected.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("menuitemcheckbox", { name: "IP address" }).click();
  await page.keyboard.press("Escape");
  await rejected.getByRole("columnheader", { name: "IP address" }).waitFor({ state: "detached" });

  // The page and the columns are in the URL, so reloading and Back restore them.
  await page.reload();
  await scrollUntil(rejected.getByText("Page 2 of 2"));
  expect(await rejected.getByRole("columnheader", { name: "IP address" }).count()).toBe(0);
  await rejected.getByRole("row").last().getByRole("link").click();
  await page.getByRole("heading", { name: "Why this request was rejected" }).waitFor();
  await page.goBack();
  await rejected.getByText("Page 2 of 2").waitFor();
  await page.goBack();
  await rejected.getByText("Page 1 of 2").waitFor();

  await proceduresOf(page).apiKeys.update.mutate({ id, settings: { isDisabled: true } });
  await call(key, "/open/me");
  await untilStored(13);
  await rejected.getByRole("button", { name: "Next page" }).click();
  await rejected.getByText("Page 2 of 2").waitFor();
  await rejected.getByRole("combobox", { name: "Reason" }).click();
  await page.getByRole("option", { name: "Disabled" }).click();
  // A filter shows its first page.
  await expect.poll(() => rejected.getByRole("row").count()).toBe(2);
  expect(new URL(page.url()).search).toBe("?reason=disabled");
  // Another part of the page keeps the filter.
  await page.getByRole("button", { name: "7 days" }).click();
  await page.waitForURL("**?reason=disabled&range=7d");
  await page.reload();
  await scrollUntil(rejected.getByText("The key was disabled."));
  expect(await rejected.getByRole("row").count()).toBe(2);
  await rejected.getByRole("link").click();
  await page.getByRole("heading", { name: "Why this request was rejected" }).waitFor();
  await page.goBack();
  await rejected.getByText("The key was disabled.").waitFor();
  expect(await rejected.getByRole("row").count()).toBe(2);
  await page.goto(`${environment.baseUrl}/account/api-keys/${id}?reason=expired`);
  await scrollUntil(rejected.getByText("None of the last 100 requests has this reason."));

  await rejected.getByRole("combobox", { name: "Reason" }).click();
  await page.getByRole("option", { name: "Any reason" }).click();
  await rejected.getByText("1–10 of 13 requests").waitFor();
  await rejected.getByRole("combobox", { name: "Rows per page" }).click();
  await page.getByRole("option", { name: "25", exact: true }).click();
  await rejected.getByText("13 requests", { exact: true }).waitFor();
  expect(await rejected.getByRole("row").count()).toBe(14);
  expect(new URL(page.url()).search).toBe("?size=25");

  // All of the key's requests were rejected, before the last 24 hours.
  await environment.change("update key_usage_hours set hour = hour - interval '2 days'");
  const usage = section(page, "Usage");
  await usage.getByText("No requests with this key in the last 24 hours.").waitFor();
  await usage.getByRole("button", { name: "7 days" }).click();
  await usage.getByRole("img", { name: "0 allowed, 0 rate limited, 13 rejected" }).waitFor();
});
