import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { readQueryCaches } from "../support/query-caches.ts";
import { recentTime } from "../support/recent-time.ts";
import { enter, readClipboard, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { untilFocused } from "./until-focused.ts";

// Ada issues keys to the consumers of her API. Each test continues where the previous one ended.

let page: Page;
let workspace: Awaited<ReturnType<typeof getWorkspace>>;
let secret: string;

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page } = await browser.open({ permissions: ["clipboard-read", "clipboard-write"] }));
  await enter(page, baseUrl);
  workspace = await getWorkspace(page);
});

const dialog = () => page.getByRole("dialog");
const rowOf = (text: string) => page.getByRole("row").filter({ hasText: text });
const field = (name: string) => dialog().getByRole("textbox", { name, exact: true });

/** Expects that the web app's caches, the URL and the history have no secret, while a dialog shows or has it. */
async function expectNotCached(key: string): Promise<void> {
  const caches = await readQueryCaches(page);
  expect(caches).toContain("issuedKeys");
  expect(caches).not.toContain(key);
  expect(await page.evaluate("location.href + JSON.stringify(history.state)")).not.toContain(key);
}

/** Issues a disabled key in the keyspace of the open page. Returns its secret. */
async function issueDisabled(name: string): Promise<string> {
  const fields = { name, isDisabled: true, permissions: ["reports.*"] };
  const path = { workspaceId: workspace.id, keyspaceId: readPath().keyspaceId };
  return (await proceduresOf(page).issuedKeys.create.mutate({ ...path, fields })).key;
}

/** Chooses an option of a select. */
async function choose(label: string, option: string): Promise<void> {
  await dialog().getByRole("combobox", { name: label }).click();
  await page.getByRole("option", { name: option, exact: true }).click();
}

test("guides from an empty list to a new keyspace, and names invalid fields", async () => {
  await page.goto(`${environment.baseUrl}/w/${workspace.slug}`);
  await page.getByRole("link", { name: "Keyspaces" }).click();
  await page.getByRole("heading", { name: "No keyspaces yet" }).waitFor();
  await page.getByText("/open/keys/verify").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "Create your first keyspace" }).click();
  await untilFocused(dialog());
  await field("Prefix").fill("lk_live");
  await dialog().getByRole("button", { name: "Create keyspace" }).click();
  await dialog().getByText("Enter a name.").waitFor();
  await dialog().getByText("Only API keys do.").waitFor();
  await field("Name").fill("Production");
  await field("Prefix").fill("sk_live");
  await field("Environment").fill("production");
  await field("Lifetime in days").fill("365");
  await field("Permissions").fill("documents.read");
  await dialog().getByRole("button", { name: "Add rate limit" }).click();
  await dialog().getByRole("textbox", { name: "Limit name" }).and(page.locator(":focus")).waitFor();
  await dialog().getByRole("button", { name: "Remove limit requests" }).click();
  await dialog().getByRole("button", { name: "Add rate limit" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Enter");
  await dialog().getByRole("textbox", { name: "Limit name" }).and(page.locator(":focus")).waitFor();
  await field("Quota").fill("2");
  await choose("Window", "per hour");
  await field("Balance").fill("100");
  await choose("Refill", "Every month");
  await field("Refill to").fill("100");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Create keyspace" }).click();
  await page.getByRole("heading", { name: "Production", level: 1 }).waitFor();
  await page.getByRole("heading", { name: "No keys yet" }).waitFor();
  await page.getByText("requests: 2 per hour").waitFor();
  await page.getByText("100, refilled to 100 on day 1 of each month at midnight UTC").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("issues a key with the defaults, and shows its secret once with the command that verifies it", async () => {
  await page.getByRole("button", { name: "Issue the first key" }).click();
  await untilFocused(dialog());
  expect(await field("Permissions").inputValue()).toBe("documents.read");
  await field("Name").fill("Acme");
  await field("External ID").fill("..");
  await field("IP ranges").fill("203.0.113.0/24");
  await field("Metadata").fill("plan: pro");
  await dialog().getByRole("button", { name: "Issue key" }).click();
  await dialog().getByText("Enter a JSON object").waitFor();
  await field("Metadata").fill('{ "a": { "b": { "c": { "d": { "e": {} } } } } }');
  await dialog().getByRole("button", { name: "Issue key" }).click();
  await dialog().getByText("Use another external ID.").waitFor();
  await dialog().getByText("Nest objects and lists at most 5 levels deep").waitFor();
  await field("External ID").and(page.locator(":focus")).waitFor();
  expect(await dialog().getByRole("alert").count()).toBe(0);
  await field("External ID").fill("customer_42");
  await field("Metadata").fill('{ "plan": "pro" }');
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Issue key" }).click();
  secret = await field("Key").inputValue();
  expect(secret).toMatch(/^sk_live_[0-9A-Za-z]{30,}$/);
  await expectNotCached(secret);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await dialog().getByText("You haven’t copied the key").waitFor();
  await dialog().getByRole("button", { name: "Copy command" }).click();
  expect(await readClipboard(page)).toBe(
    `curl ${environment.baseUrl}/open/keys/verify -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" -d '{"key":"${secret}"}'`,
  );
  await dialog().getByRole("button", { name: "Done" }).click();
  await rowOf("Acme").getByText("customer_42").waitFor();
  await rowOf("Acme").getByText("Active").waitFor();
  expect(await page.content()).not.toContain(secret);
});

test("tries the key: by default nothing is spent, and each result is explained", async () => {
  await page.getByRole("button", { name: "Try a key" }).click();
  const verify = async (code: string) => {
    await dialog().getByRole("button", { name: "Verify" }).click();
    await dialog().getByText(code, { exact: true }).waitFor();
  };
  await verify("Paste a key.");
  await field("Key").fill(`  ${secret} `);
  await verify("FORBIDDEN");
  await dialog().getByText("the IP address is missing or in none of them").waitFor();
  await field("IP address of the consumer").fill("203.0.113.7");
  await field("Required permissions").fill("documents.read AND");
  await dialog().getByRole("button", { name: "Verify" }).click();
  await dialog()
    .getByText(/^Character \d+:/)
    .waitFor();
  await field("Required permissions").fill("documents.read AND documents.write");
  await verify("INSUFFICIENT_PERMISSIONS");
  await field("Required permissions").fill("documents.read");
  await verify("VALID");
  await dialog().getByText("100", { exact: true }).waitFor();
  await dialog().getByText("2 of 2 remaining").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await field("Cost").fill("2");
  await verify("VALID");
  await dialog().getByText("0 of 2 remaining").waitFor();
  await verify("RATE_LIMITED");
  await expectNotCached(secret);
  await field("Key").fill("sk_live_unknown");
  await verify("NOT_FOUND");
  // The page then counts a key that was issued elsewhere.
  await field("Key").fill(await issueDisabled("Globex"));
  await verify("DISABLED");
  await page.getByText("2 keys", { exact: true }).waitFor();
  await dialog().getByRole("button", { name: "Close" }).last().click();
  await dialog().waitFor({ state: "detached" });
  await rowOf("Acme").getByText("Never", { exact: true }).waitFor({ state: "detached" });
  await rowOf("Acme").getByText(recentTime).first().waitFor();
});

test("finds keys by name, first characters, status, consumer and permission, in the URL", async () => {
  await issueDisabled("Initech");
  await page.reload();
  await page.getByText("3 keys", { exact: true }).waitFor();
  const search = page.getByRole("searchbox", { name: "Search keys" });
  await search.fill("glo");
  await rowOf("Acme").waitFor({ state: "detached" });
  await rowOf("Globex").waitFor();
  // A pasted key is cut to its first characters, so that the URL has no secret.
  await search.fill(secret);
  await rowOf("Globex").waitFor({ state: "detached" });
  await rowOf("Acme").waitFor();
  expect(page.url()).toContain(`q=${secret.slice(0, 14)}`);
  expect(page.url()).not.toContain(secret.slice(0, 15));
  await search.fill("");
  await rowOf("Globex").waitFor();
  await page.getByRole("combobox", { name: "Status" }).click();
  await page.getByRole("option", { name: "Disabled" }).click();
  await rowOf("Acme").waitFor({ state: "detached" });
  await page.getByRole("textbox", { name: "Permission" }).fill("documents.read");
  await page.getByRole("heading", { name: "No key matches the filters" }).waitFor();
  await page.waitForURL(/status=disabled&permission=documents\.read$/);
  await page.reload();
  await page.getByRole("heading", { name: "No key matches the filters" }).waitFor();
  expect(await page.getByRole("textbox", { name: "Permission" }).inputValue()).toBe("documents.read");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  // A text that is incomplete isn't in the URL.
  await search.fill("nothing");
  for (const text of ["", "documents."]) await page.getByRole("textbox", { name: "Permission" }).fill(text);
  await page.getByText("Enter a permission such as documents.read.").waitFor();
  await page.waitForURL(({ searchParams }) => searchParams.get("q") === "nothing");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await rowOf("Globex").waitFor();
  expect(await page.getByRole("textbox", { name: "Permission" }).inputValue()).toBe("");
  await page.getByRole("textbox", { name: "External ID" }).fill("customer_42");
  await page.waitForURL(/\?consumer=customer_42$/);
  await rowOf("Globex").waitFor({ state: "detached" });
  await rowOf("Acme").getByRole("link", { name: "Acme" }).click();
  await page.getByRole("heading", { name: "Acme", level: 1 }).waitFor();
});

test("shows at 768 px when each key was last used", async () => {
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link").click();
  const header = (name: string) => page.getByRole("columnheader", { name, exact: true });
  await header("Uses (30 days)").waitFor();
  await page.setViewportSize({ width: 768, height: 900 });
  await header("Uses (30 days)").waitFor({ state: "detached" });
  const { x, width } = (await header("Last used").boundingBox()) ?? { x: Number.NaN, width: Number.NaN };
  expect(x + width).toBeLessThanOrEqual(768);
  expect(await header("Consumer").count()).toBe(1);
  await page.setViewportSize({ width: 1280, height: 720 });
  await rowOf("Acme").getByRole("link", { name: "Acme" }).click();
});

test("edits a key, also after someone else has changed it", async () => {
  await page.getByText("203.0.113.0/24").waitFor();
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await untilFocused(dialog());
  await field("IP ranges").fill("");
  await field("Name").fill("Acme mobile");
  const { keyspaceId, keyId } = readPath();
  await proceduresOf(page).issuedKeys.update.mutate({
    workspaceId: workspace.id,
    keyspaceId,
    id: keyId,
    version: 1,
    changes: { permissions: ["documents.*"] },
  });
  await dialog().getByRole("button", { name: "Save" }).click();
  await dialog().getByText("your changes weren’t saved").waitFor();
  // The edit keeps its input, and the other fields show the current values.
  await dialog().getByRole("alert").getByText("documents.*").waitFor();
  expect(await field("Permissions").inputValue()).toBe("documents.*");
  expect(await field("Name").inputValue()).toBe("Acme mobile");
  expect(await field("IP ranges").inputValue()).toBe("");
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Acme mobile", level: 1 }).waitFor();
  await page.getByText("Any IP address", { exact: true }).waitFor();
  await page.getByText("98, refilled to 100 on day 1 of each month").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("disables, enables and rotates a key", async () => {
  await page.getByRole("button", { name: "Disable key" }).click();
  await dialog().getByText("customer_42").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Disable key" }).click();
  await page.getByText("This key is disabled.").waitFor();
  await page.getByRole("button", { name: "Enable key" }).press("Enter");
  expect(await codeOf(secret)).toBe("DISABLED");
  await dialog().getByRole("button", { name: "Enable key" }).click();
  await page.getByRole("button", { name: "Disable key" }).waitFor();
  expect(await page.getByText("This key is disabled.").count()).toBe(0);
  expect(await codeOf(secret)).toBe("VALID");

  await environment.change(
    "update sessions set created_at = now() - interval '1 day', authenticated_at = null",
  );
  await page.getByRole("button", { name: "Rotate" }).click();
  await dialog().getByRole("radio", { name: "1 hour" }).check();
  await dialog().getByRole("button", { name: "Rotate key" }).click();
  const confirmation = page.getByRole("dialog").filter({ hasText: "password" });
  await confirmation.getByLabel("Password").fill(visitor.password);
  await confirmation.getByRole("button", { name: "Confirm" }).click();
  await dialog().getByText("It won’t be shown again.").waitFor();
  const rotated = await field("Key").inputValue();
  expect(rotated).not.toBe(secret);
  await expectNotCached(rotated);
  await dialog().getByRole("button", { name: "Copy key" }).click();
  await dialog().getByRole("button", { name: "Done" }).click();
  await page.getByText("Rotating").waitFor();
  await page.getByText(`${secret.slice(0, 14)}…`).waitFor();
  expect([await codeOf(secret), await codeOf(rotated)]).toEqual(["VALID", "VALID"]);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("revokes the old secrets of a key before their overlap ends", async () => {
  const { issuedKeys } = proceduresOf(page);
  const { keyspaceId, keyId: id } = readPath();
  const path = { workspaceId: workspace.id, keyspaceId, id };
  const secrets = page.getByRole("region", { name: "Secrets" });
  await secrets.getByRole("button", { name: "Revoke old secret", exact: true }).waitFor();
  const former = (await issuedKeys.get.query(path)).start;
  const { key: current } = await issuedKeys.rotate.mutate({ ...path, overlapSeconds: 2_592_000 });
  await page.reload();
  await secrets.getByRole("button", { name: "Revoke old secrets", exact: true }).press("Enter");
  await dialog().getByRole("heading", { name: "Revoke the 2 old secrets?" }).waitFor();
  for (const start of [secret.slice(0, 14), former])
    await dialog().getByText(`${start}…`, { exact: true }).waitFor();
  expect(
    await dialog()
      .getByText(/^Valid until .*\d{4}/)
      .count(),
  ).toBe(2);
  await dialog().getByText("customer_42", { exact: true }).waitFor();
  // Verified a moment ago, with an old secret.
  await dialog()
    .getByText(/^(just now|\d+ (s|min) ago) \(.*\d{4}.*\)$/)
    .waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Revoke old secrets" }).click();
  await page.getByText("The 2 old secrets were revoked.").waitFor();
  await secrets.getByText(`${secret.slice(0, 14)}…`).waitFor({ state: "detached" });
  await page.locator("#content:focus").waitFor();
  expect(await secrets.getByRole("button").count()).toBe(0);
  expect(await page.getByText("Rotating", { exact: true }).count()).toBe(0);
  await page
    .getByRole("region", { name: "Changes to this key" })
    .getByText("revoked the old secrets")
    .waitFor();
  expect([await codeOf(secret), await codeOf(current)]).toEqual(["NOT_FOUND", "VALID"]);
  secret = current;
});

test("changes the balance of a key, and rejects what would make it negative", async () => {
  await page.getByRole("button", { name: "Change balance" }).click();
  await dialog().getByText("The balance is 98.").waitFor();
  await untilFocused(dialog());
  await choose("Change", "Subtract");
  await field("Credits").fill("99");
  await dialog().getByRole("button", { name: "Change balance" }).click();
  await dialog().getByText("can’t become negative").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await choose("Change", "Add");
  await field("Credits").fill("2");
  await dialog().getByRole("button", { name: "Change balance" }).click();
  await page.getByText("100, refilled to 100 on day 1 of each month").waitFor();
});

test("disables and enables selected keys together", async () => {
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link").click();
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByText("3 keys selected").waitFor();
  await page.waitForURL(/selected=ikey_/);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "Enable", exact: true }).click();
  await dialog().getByText("1 other selected key is already enabled.").waitFor();
  await dialog().getByRole("button", { name: "Enable 2 keys" }).click();
  await page.getByText("2 keys were enabled.").waitFor();
  await rowOf("Globex").getByText("Active").waitFor();
  for (const name of ["Globex", "Initech"])
    await page.getByRole("checkbox", { name: `Select ${name}` }).check();
  await page.getByRole("button", { name: "Disable", exact: true }).click();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Disable 2 keys" }).click();
  await page.getByText("2 keys were disabled.").waitFor();
  for (const name of ["Globex", "Initech"]) await rowOf(name).getByText("Disabled").waitFor();
  await page.getByRole("checkbox", { name: "Select Initech" }).check();
  await page.getByRole("button", { name: "Enable", exact: true }).click();
  await dialog().getByRole("button", { name: "Enable 1 key" }).click();
  await rowOf("Initech").getByText("Active").waitFor();
  await page.getByRole("link", { name: "Acme mobile" }).click();
});

test("counts only the selected keys that it deleted, not those that were already deleted", async () => {
  const { issuedKeys } = proceduresOf(page);
  const path = { workspaceId: workspace.id, keyspaceId: readPath().keyspaceId };
  const { id } = await issuedKeys.create.mutate({ ...path, fields: { name: "Hooli" } });
  await issuedKeys.create.mutate({ ...path, fields: { name: "Umbrella" } });
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link").click();
  await page.getByRole("heading", { name: "Production", level: 1 }).waitFor();
  await page.reload();
  for (const name of ["Hooli", "Umbrella"])
    await page.getByRole("checkbox", { name: `Select ${name}` }).check();
  await issuedKeys.delete.mutate({ ...path, id });
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await dialog().getByRole("button", { name: "Delete 2 keys" }).click();
  await page.getByText("1 key was deleted.").waitFor();
  await rowOf("Umbrella").waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Acme mobile" }).click();
});

test("disables the keyspace, and deletes a key", async () => {
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link").click();
  await page.getByRole("button", { name: "Disable keyspace" }).press("Enter");
  await dialog().getByText("Verifications of its 2 active keys fail with DISABLED").waitFor();
  await dialog().getByText("3 keys, 2 of them active", { exact: true }).waitFor();
  // The rotated key was used a moment ago, the others never.
  await dialog()
    .getByText(/^(just now|\d+ (s|min) ago) \(.*\d{4}.*\)$/)
    .waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  const { keyspaces } = proceduresOf(page);
  const path = { workspaceId: workspace.id, keyspaceId: readPath().keyspaceId };
  const { version } = await keyspaces.get.query(path);
  await keyspaces.update.mutate({ ...path, version, changes: { environment: "live" } });
  await dialog().getByRole("button", { name: "Disable keyspace" }).click();
  await dialog().getByText("Someone changed the keyspace at the same time. Try again.").waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  await dialog().getByRole("button", { name: "Disable keyspace" }).click();
  await page.getByText("This keyspace is disabled.").waitFor();
  expect(await codeOf(secret)).toBe("DISABLED");
  await page.getByRole("link", { name: "Acme mobile" }).click();
  await page.getByText("The keyspace of this key is disabled.").waitFor();
  await page.setViewportSize({ width: 375, height: 800 });
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByRole("button", { name: "Delete key" }).press("Enter");
  await dialog().getByText("fail with NOT_FOUND").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Delete key" }).click();
  await page.getByRole("heading", { name: "Production", level: 1 }).waitFor();
  await page.getByText("2 keys", { exact: true }).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
});

test("deletes the keyspace, after saying how many keys it deletes", async () => {
  await page.getByRole("button", { name: "Delete keyspace" }).press("Enter");
  await dialog().getByText("2 keys are deleted. None of them works now.").waitFor();
  await dialog().getByText("2 keys, 1 of them active", { exact: true }).waitFor();
  await dialog().getByText("Never used").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Delete keyspace" }).click();
  await page.getByRole("heading", { name: "No keyspaces yet" }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Keyspace not found" }).waitFor();
});

test("a viewer sees keyspaces and keys, and no action that the role doesn’t allow", async () => {
  const { keyspaces, issuedKeys } = proceduresOf(page);
  const { id: keyspaceId } = await keyspaces.create.mutate({
    workspaceId: workspace.id,
    fields: { name: "Staging", prefix: "sk_test" },
  });
  const path = { workspaceId: workspace.id, keyspaceId };
  const { id } = await issuedKeys.create.mutate({ ...path, fields: { name: "Globex" } });
  await issuedKeys.rotate.mutate({ ...path, id, overlapSeconds: 3_600 });
  const { page: linus } = await environment.browser.open();
  await enter(linus, environment.baseUrl, "linus@example.com");
  await environment.command([
    "member",
    "add",
    "--workspace",
    workspace.id,
    "--user",
    "linus@example.com",
    "--role",
    "viewer",
  ]);
  await linus.goto(`${environment.baseUrl}/w/${workspace.slug}/keyspaces`);
  await linus.getByRole("link", { name: "Staging" }).click();
  await linus.getByRole("link", { name: "Globex" }).click();
  await linus.getByRole("heading", { name: "Globex", level: 1 }).waitFor();
  await linus.getByRole("region", { name: "Secrets" }).getByText("valid until").waitFor();
  for (const name of ["Edit", "Rotate", "Revoke old secret", "Try a key", "Delete key"])
    expect(await linus.getByRole("button", { name, exact: true }).count()).toBe(0);
  await linus.goBack();
  await linus.getByRole("heading", { name: "Staging", level: 1 }).waitFor();
  await linus.getByRole("link", { name: "Globex" }).waitFor();
  for (const name of ["Edit", "Issue key", "Try a key", "Delete keyspace"])
    expect(await linus.getByRole("button", { name, exact: true }).count()).toBe(0);
});

/** The IDs in the URL of a keyspace or a key. */
function readPath(): { readonly keyspaceId: string; readonly keyId: string } {
  const [, keyspaceId = "", keyId = ""] =
    /\/keyspaces\/([^/?]+)(?:\/keys\/([^/?]+))?/.exec(new URL(page.url()).pathname) ?? [];
  return { keyspaceId, keyId };
}

/** The code of a verification that spends nothing. */
async function codeOf(key: string): Promise<string> {
  const { keyspaceId } = readPath();
  const path = { workspaceId: workspace.id, keyspaceId };
  return (await proceduresOf(page).issuedKeys.verify.mutate({ ...path, key })).code;
}
