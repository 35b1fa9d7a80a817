import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { untilFocused } from "./until-focused.ts";

// Input that isn't saved is discarded only after a confirmation, whatever would discard it.

let page: Page;
let slug: string;
let keyId: string;
let keyspaceId: string;

const environment = prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page } = await browser.open());
  await enter(page, baseUrl);
  const { id: workspaceId, slug: ownSlug } = await getWorkspace(page);
  slug = ownSlug;
  const { apiKeys, keyspaces, issuedKeys } = proceduresOf(page);
  ({ id: keyId } = await apiKeys.create.mutate({ name: "Backup" }));
  const fields = { name: "Production", prefix: "acme" };
  ({ id: keyspaceId } = await keyspaces.create.mutate({ workspaceId, fields }));
  const credits = { remaining: 5, refill: null };
  await issuedKeys.create.mutate({ workspaceId, keyspaceId, fields: { name: "Globex", credits } });
});

const question = () => page.getByRole("dialog", { name: "Discard unsaved changes?" });
const keep = () => question().getByRole("button", { name: "Keep editing" });
const discard = () => question().getByRole("button", { name: "Discard" });
const focused = () => page.locator(":focus");
const path = () => new URL(page.url()).pathname;
const link = (name: string) =>
  page.getByRole("navigation", { name: "Main" }).getByRole("link", { name, exact: true });

async function open(where: string, heading: string): Promise<void> {
  await page.goto(environment.baseUrl + where);
  await page.getByRole("heading", { name: heading, exact: true }).waitFor();
}

/** Opens a page of the app from the overview, so that Back leads to the overview. */
async function openFromOverview(label: string): Promise<void> {
  await open(`/w/${slug}`, "Quick start");
  await link(label).click();
  await page.getByRole("heading", { name: label, exact: true, level: 1 }).waitFor();
  await page.locator("main:focus").waitFor();
}

test("asks before a link discards the settings of a workspace, and keeps them if the user stays", async () => {
  await openFromOverview("Settings");
  const description = page.getByRole("textbox", { name: "Description" });
  await description.fill("Pays the bills");
  await link("Members").click();
  await keep().and(focused()).waitFor();
  await keep().click();
  await question().waitFor({ state: "detached" });
  expect(path()).toBe(`/w/${slug}/settings`);
  expect(await description.inputValue()).toBe("Pays the bills");
  await link("Members").click();
  await discard().click();
  await page.getByRole("heading", { name: "Members", exact: true }).waitFor();
  await question().waitFor({ state: "detached" });
  await link("Settings").click();
  await description.waitFor();
  expect(await description.inputValue()).toBe("");
});

test("asks before Back discards the settings, and stays on Escape", async () => {
  await openFromOverview("Settings");
  const description = page.getByRole("textbox", { name: "Description" });
  await description.fill("Pays the bills");
  await page.goBack();
  await question().waitFor();
  await page.keyboard.press("Escape");
  await question().waitFor({ state: "detached" });
  await expect.poll(path).toBe(`/w/${slug}/settings`);
  expect(await description.inputValue()).toBe("Pays the bills");
  await page.goBack();
  await discard().click();
  await page.getByRole("heading", { name: "Quick start" }).waitFor();
  expect(path()).toBe(`/w/${slug}`);
});

test("asks nothing if nothing was typed, and nothing after saving", async () => {
  await openFromOverview("Settings");
  const description = page.getByRole("textbox", { name: "Description" });
  await description.fill("Changed");
  await description.fill("");
  await link("Members").click();
  await page.getByRole("heading", { name: "Members", exact: true }).waitFor();
  await link("Settings").click();
  await page.locator("main:focus").waitFor();
  await description.fill("Pays the bills");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Workspace settings saved.").waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Members", exact: true }).waitFor();
  expect(await question().count()).toBe(0);
});

test("asks before closing the tab discards the settings, but not without unsaved input", async () => {
  await open(`/w/${slug}/settings`, "Settings");
  const dialogTypes: string[] = [];
  page.on("dialog", (dialog) => {
    dialogTypes.push(dialog.type());
    void dialog.accept();
  });
  await page.getByRole("textbox", { name: "Description" }).fill("Not saved");
  await page.reload();
  expect(dialogTypes).toEqual(["beforeunload"]);
  // The reload discarded the input.
  await page.getByText("Pays the bills").waitFor();
  await page.getByRole("textbox", { name: "Description" }).click();
  await page.reload();
  await page.getByText("Pays the bills").waitFor();
  expect(dialogTypes).toEqual(["beforeunload"]);
  page.removeAllListeners("dialog");
});

/** The forms, where they are, and how to change one field and to save. */
const forms = [
  {
    form: "one's name",
    at: () => "/account/profile",
    enter: () => page.getByRole("textbox", { name: "Name" }).fill("Ada King"),
    save: async () => {
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Your name was changed.").waitFor();
    },
  },
  {
    form: "the password",
    at: () => "/account/profile",
    enter: () => page.getByLabel("New password").fill("an even longer horse that counts"),
  },
  {
    form: "the API key policy",
    at: () => `/w/${slug}/settings`,
    enter: () => page.getByLabel("Maximum idle time, in days").fill("30"),
  },
  {
    form: "the restrictions of a key",
    at: () => `/account/api-keys/${keyId}?edit=restrictions`,
    enter: async () => {
      await untilFocused(page.getByRole("form", { name: "Restrictions" }));
      await page.getByLabel("Rate limit", { exact: true }).fill("100");
    },
    save: async () => {
      await page.getByRole("button", { name: "Save restrictions" }).click();
      await page.getByRole("button", { name: "Edit restrictions" }).waitFor();
    },
  },
  {
    form: "a request to try",
    at: () => `/account/api-keys/${keyId}`,
    enter: async () => {
      await page.getByRole("button", { name: "Try a request" }).click();
      await untilFocused(page.getByRole("form", { name: "Try this key" }));
      await page.getByLabel("Path").fill("/open/workspaces");
    },
    save: async () => {
      await page.getByRole("form", { name: "Try this key" }).getByRole("button", { name: "Try it" }).click();
      await page.getByRole("form", { name: "Try this key" }).getByText("Allowed").waitFor();
    },
  },
];

test.each(forms)(
  "asks before a link discards the input of a form: $form",
  async ({ at, enter: type, save }) => {
    await page.goto(environment.baseUrl + at());
    await type();
    await link("Audit log").click();
    await keep().click();
    await question().waitFor({ state: "detached" });
    if (save) {
      await save();
      await link("Audit log").click();
    } else {
      await link("Audit log").click();
      await discard().click();
    }
    await page.getByRole("heading", { name: "Audit log" }).waitFor();
  },
);

test("a change of the same page's URL keeps the input, without a question", async () => {
  await page.goto(`${environment.baseUrl}/account/api-keys/${keyId}?edit=restrictions`);
  await untilFocused(page.getByRole("form", { name: "Restrictions" }));
  await page.getByLabel("Rate limit", { exact: true }).fill("50");
  await page.getByRole("button", { name: "7 days" }).click();
  await expect.poll(() => new URL(page.url()).search).toContain("range=7d");
  expect(await page.getByLabel("Rate limit", { exact: true }).inputValue()).toBe("50");
  expect(await question().count()).toBe(0);
});

const toAccount = async (item: string) => {
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menuitem", { name: item }).click();
};
const toKeys = () => toAccount("API keys");
const press = (name: string) => page.getByRole("button", { name, exact: true }).click();

const overview = { path: () => `/w/${slug}`, heading: "Quick start" };
const keyspaceList = { path: () => `/w/${slug}/keyspaces`, heading: "Keyspaces" };
const keyspacePage = { path: () => `/w/${slug}/keyspaces/${keyspaceId}`, heading: "Production" };
const toKeyspace = () => page.getByRole("link", { name: "Production", exact: true }).click();
const toIssuedKey = () => page.getByRole("link", { name: "Globex", exact: true }).click();

/** The dialogs, the page before theirs, how to reach their page from it, the button that opens them, and a field. */
const dialogs = [
  { dialog: "New workspace", reach: toKeys, button: undefined, field: "Name" },
  { dialog: "New API key", reach: toKeys, button: "New API key", field: "Description" },
  { dialog: "Edit API key", reach: toKeys, button: "Edit Backup", field: "Name" },
  { dialog: "Try a key", reach: toKeys, button: "Try it", field: "Path" },
  {
    dialog: "Invite a member to",
    reach: () => link("Members").click(),
    button: "Invite member",
    field: "Email address",
  },
  {
    dialog: "New webhook",
    reach: () => link("Webhooks").click(),
    button: "New webhook",
    field: "Description",
  },
  { dialog: "New keyspace", reach: () => link("Keyspaces").click(), button: "New keyspace", field: "Name" },
  { dialog: "Edit keyspace", from: keyspaceList, reach: toKeyspace, button: "Edit", field: "Name" },
  { dialog: "Issue a key", from: keyspaceList, reach: toKeyspace, button: "Issue key", field: "External ID" },
  { dialog: "Edit key", from: keyspacePage, reach: toIssuedKey, button: "Edit", field: "Name" },
  {
    dialog: "Change the balance",
    from: keyspacePage,
    reach: toIssuedKey,
    button: "Change balance",
    field: "Credits",
  },
  { dialog: "Try a key", from: keyspacePage, reach: toIssuedKey, button: "Try a key", field: "Key" },
  {
    dialog: "New service account",
    from: { path: () => `/w/${slug}/members`, heading: "Members" },
    reach: () => page.getByRole("link", { name: "Service accounts" }).click(),
    button: "New service account",
    field: "Name",
  },
  {
    dialog: "Set up an authenticator app",
    reach: () => toAccount("Security"),
    button: "Set up an authenticator app",
    field: "Code",
  },
  {
    dialog: "Change how long the audit log is kept",
    reach: () => link("Settings").click(),
    button: "Change retention",
    field: "Retention, in days",
  },
];

test.each(dialogs)("asks before Escape or Back discards the input of a dialog: $dialog", async (about) => {
  const { dialog, from = overview, reach, button } = about;
  const former = page.getByRole("heading", { name: from.heading, exact: true });
  // Reached through the app, so that Back doesn't load the document again.
  await open(from.path(), from.heading);
  await reach();
  await former.waitFor({ state: "detached" });
  const named = page.getByRole("dialog", { name: dialog });
  const field = named.getByLabel(about.field, { exact: true });
  const show = async () => {
    if (button) await press(button);
    else {
      await press("Workspace: Ada Lovelace’s workspace");
      await page.getByRole("menuitem", { name: "New workspace" }).click();
    }
    await untilFocused(named);
  };
  await show();
  await field.waitFor();
  await page.keyboard.press("Escape");
  await named.waitFor({ state: "detached" });

  await show();
  await field.fill("typed");
  await page.keyboard.press("Escape");
  await keep().and(focused()).waitFor();
  await page.keyboard.press("Escape");
  await question().waitFor({ state: "detached" });
  expect(await field.inputValue()).toBe("typed");
  // Escape asks again, also while the answered question is still being hidden.
  for (let round = 0; round < 3; round++) {
    await page.keyboard.press("Escape");
    await keep().and(focused()).waitFor();
    await page.keyboard.press("Escape");
  }
  await question().waitFor({ state: "detached" });
  expect(await field.inputValue()).toBe("typed");
  // The dialog may also have one in its last row.
  await named.getByRole("button", { name: "Close" }).first().click();
  await discard().click();
  await named.waitFor({ state: "detached" });
  await question().waitFor({ state: "detached" });
  // The control that opened the dialog has the focus again.
  const opener = button ?? "Workspace: Ada Lovelace’s workspace";
  await page.getByRole("button", { name: opener, exact: true }).and(focused()).waitFor();

  await show();
  await field.fill("typed");
  await page.goBack();
  await keep().click();
  await question().waitFor({ state: "detached" });
  expect(await field.inputValue()).toBe("typed");
  await page.goBack();
  await discard().click();
  await former.waitFor();
  await named.waitFor({ state: "detached" });
});

test("asks before a rate limit is discarded that was added after another field was edited and restored", async () => {
  await open(keyspacePage.path(), "Production");
  await press("Edit");
  const dialog = page.getByRole("dialog", { name: "Edit keyspace" });
  await untilFocused(dialog);
  const name = dialog.getByLabel("Name", { exact: true });
  await name.fill("Staging");
  await name.fill("Production");
  await dialog.getByRole("button", { name: "Add rate limit" }).click();
  await dialog.getByLabel("Limit name").and(focused()).waitFor();
  await page.keyboard.press("Escape");
  await keep().click();
  await question().waitFor({ state: "detached" });
  await dialog.getByRole("button", { name: /^Remove limit/ }).click();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
});

test("a dialog asks only about its own input, and the new workspace opens without a question", async () => {
  await open(`/w/${slug}/settings`, "Settings");
  const description = page.getByRole("textbox", { name: "Description" });
  await press("Workspace: Ada Lovelace’s workspace");
  await page.getByRole("menuitem", { name: "New workspace" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Globex");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Globex", level: 1 }).waitFor();
  await page.goto(`${environment.baseUrl}/w/${slug}/settings`);
  await description.fill("Not saved");
  await press("Workspace: Ada Lovelace’s workspace");
  await page.getByRole("menuitem", { name: "New workspace" }).click();
  await page.getByRole("dialog", { name: "New workspace" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await description.inputValue()).toBe("Not saved");
});

test("asks before signing out discards the input", async () => {
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await keep().click();
  expect(path()).toBe(`/w/${slug}/settings`);
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await discard().click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});
