import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, test } from "vitest";
import { findColorProblems, findProblemsInBothSchemes } from "../support/accessibility.ts";
import { callOpenApi, createKey, signUp } from "../support/visitor.ts";
import { proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

const environment = prepareEnvironment();

const wide = { width: 1280, height: 800 };
const narrow = { width: 375, height: 740 };
const settings: readonly (BrowserContextOptions & { readonly words: string })[] = [
  { words: "wide", viewport: wide },
  { words: "on a phone", viewport: narrow, isMobile: true, hasTouch: true },
];

/** Takes 20 s on an idle machine. */
const timeout = 600_000;

test.each(settings)(
  "axe finds nothing on any page, menu and dialog in light and dark, $words",
  { timeout },
  async ({ words, ...options }) => {
    const { page } = await environment.browser.open(options);
    const found: Record<string, readonly string[]> = {};
    await visitEverything(page, `${words.replaceAll(" ", "-")}@example.com`, async (pageName) => {
      const problems = await findProblemsInBothSchemes(page);
      if (problems.length > 0) found[pageName] = problems;
    });
    expect(found).toEqual({});
    await page.context().close();
  },
);

test("axe checks colors after their transition, and doesn't wait for an endless animation", async () => {
  const { page } = await environment.browser.open();
  await page.setContent(`<!doctype html><html lang="en"><title>Colors</title><style>
    p { color: #eee; background: #fff; transition: color 1s; animation: move 1s infinite alternate; }
    .readable { color: #000; }
    @keyframes move { to { translate: 1px; } }
  </style><main><p>Text</p></main></html>`);
  expect(await findColorProblems(page)).toEqual([expect.stringMatching(/^color-contrast: <p>/)]);
  await page.evaluate("document.querySelector('p').classList.add('readable')");
  expect(await findColorProblems(page)).toEqual([]);
});

async function visitEverything(
  page: Page,
  email: string,
  check: (pageName: string) => Promise<void>,
): Promise<void> {
  const dialog = page.getByRole("dialog");
  const close = async () => {
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  };
  const isNarrow = page.viewportSize()?.width === narrow.width;

  await page.goto(`${environment.baseUrl}/sign-in`);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await check("sign-in");
  await page.goto(`${environment.baseUrl}/sign-up`);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("Enter your name.").waitFor();
  await check("sign-up with errors");

  await signUp(page, environment.baseUrl, email);
  await page.getByRole("link", { name: "New API key" }).waitFor();
  await check("overview");
  await page.getByRole("button", { name: "Account menu" }).click();
  await page.getByRole("menuitem", { name: "Your API keys" }).waitFor();
  await check("account menu");
  await page.getByRole("menuitem", { name: "Your API keys" }).click();
  await page.getByText("No API keys yet").waitFor();
  await check("no API keys");

  await page.getByRole("button", { name: "New API key" }).click();
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByText("Enter a name").waitFor();
  await check("new key with an error");
  await dialog.getByLabel("Name").fill("Backup");
  await dialog.getByLabel("Description").fill("Every night");
  await dialog.getByRole("button", { name: "Restrict this key" }).click();
  await dialog.getByRole("radio", { name: "Selected permissions" }).check();
  await dialog.getByRole("radio", { name: "Selected workspaces" }).check();
  await dialog.getByLabel("Rate limit", { exact: true }).fill("none");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByText("Enter a whole number").waitFor();
  await check("new key with invalid restrictions");
  await dialog.getByRole("radio", { name: "All permissions of your role" }).check();
  await dialog.getByRole("radio", { name: "All workspaces" }).check();
  await dialog.getByLabel("Rate limit", { exact: true }).fill("1000");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByRole("textbox", { name: "API key" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog.getByText("You haven’t copied the API key").waitFor();
  await check("new secret with its warning");
  await dialog.getByRole("button", { name: "Done" }).click();

  await page.getByRole("button", { name: "Edit Backup" }).click();
  await dialog.getByLabel("Name").waitFor();
  await check("edit dialog");
  await dialog.getByLabel("Description").fill("Every night at two");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("“Backup” was saved.").waitFor();
  await check("API keys with a message");
  await page.getByRole("button", { name: "Delete Backup" }).click();
  await dialog.getByRole("button", { name: "Delete key", exact: true }).waitFor();
  await check("delete dialog");
  await close();
  await visitKeyPage(page, check);
  for (let number = 1; number <= 26; number += 1) await createKey(page, `Robot ${number}`, "Sorts parcels");
  await page.getByText("1–25 of 27 keys").first().waitFor();
  await check("pages of API keys");
  await page.getByRole("searchbox").fill("nothing like it");
  await page.getByText("No key matches").waitFor();
  await check("no match");

  await page.getByRole("button", { name: "Search or jump to" }).click();
  await page
    .getByRole("combobox", { name: "Search pages, keys, members, actions and request IDs" })
    .fill("robot 1");
  await page
    .getByRole("option", { name: /Robot 1/ })
    .first()
    .waitFor();
  await check("search over everything");
  await page
    .getByRole("combobox", { name: "Search pages, keys, members, actions and request IDs" })
    .fill("nothing like it");
  await page.getByText("Nothing matches").waitFor();
  await check("search that finds nothing");
  await close();
  if (isNarrow) {
    await page.getByRole("button", { name: "Open navigation" }).click();
    await dialog.getByRole("link", { name: "Overview" }).waitFor();
    await check("navigation drawer");
    await close();
  } else {
    await page.getByRole("button", { name: "Collapse sidebar" }).click();
    await page.getByRole("button", { name: "Expand sidebar" }).waitFor();
    await check("collapsed sidebar");
  }

  await page.goto(`${environment.baseUrl}/nowhere`);
  await page.getByRole("heading", { name: "Page not found" }).waitFor();
  await check("page not found");
  await page.route("**/trpc/apiKeys.list*", (route) => route.fulfill({ status: 502, body: "" }));
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("button", { name: "Try again" }).waitFor();
  await check("failure");
}

async function visitKeyPage(page: Page, check: (pageName: string) => Promise<void>): Promise<void> {
  const dialog = page.getByRole("dialog");
  const close = async () => {
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  };
  const name = "Bound";
  const settings = { isReadOnly: true, ipRanges: ["203.0.113.0/24"] };
  const { apiKeys } = proceduresOf(page);
  const { id, key } = await apiKeys.create.mutate({ name, settings });
  const requestId = `axe-${id}`;
  await fetch(`${environment.baseUrl}/open/me`, {
    headers: { Authorization: `Bearer ${key}`, "X-Request-Id": requestId },
  });
  await apiKeys.rotate.mutate({ id, overlapSeconds: 0 });
  await callOpenApi(environment.baseUrl, key);
  await apiKeys.rotate.mutate({ id, overlapSeconds: 3_600 });

  await page.getByRole("link", { name }).click();
  await page.getByText("An old secret was used after it stopped being valid.").waitFor();
  await page.getByRole("button", { name: "Show as a table" }).click();
  await page.getByRole("table", { name: "Requests by hour" }).waitFor();
  await check("a key's page");
  await page.getByRole("button", { name: "Try a request" }).click();
  await page.getByRole("button", { name: "Try it" }).click();
  await page
    .getByText("Required permission")
    .or(page.getByText("Rejected", { exact: true }))
    .first()
    .waitFor();
  await page.getByRole("button", { name: "Edit restrictions" }).click();
  await check("a key's page with its restrictions to be changed and a verdict");
  await page.getByRole("checkbox", { name: "Read only" }).uncheck();
  await page.getByRole("button", { name: "Save restrictions" }).click();
  await dialog.getByText("Expand this key’s access?").waitFor();
  await check("confirmation of expanded access");
  await close();
  await page.getByRole("button", { name: "Rotate" }).click();
  await dialog.getByRole("button", { name: "Rotate key" }).waitFor();
  await dialog.getByRole("radio", { name: "Custom duration" }).check();
  await dialog.getByRole("button", { name: "Rotate key" }).click();
  await dialog.getByText("Enter a whole number of hours").waitFor();
  await check("rotation with a custom overlap");
  await page.keyboard.press("Escape");
  await page.getByText("Discard unsaved changes?").waitFor();
  await check("confirmation that input is discarded");
  await page.getByRole("button", { name: "Discard" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Revoke old secret" }).click();
  await dialog.getByText("Revoke the old secret?").waitFor();
  await check("revocation of an old secret");
  await close();
  await page.goto(`${environment.baseUrl}/account/requests/${requestId}`);
  await page.getByText("The key is restricted to IP ranges").waitFor();
  await check("an explained rejection");
  await page.goto(`${environment.baseUrl}/account/requests/nothing-0001`);
  await page.getByText("No rejected request with this ID").waitFor();
  await check("an unknown request");
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("button", { name: "Try it" }).click();
  await dialog.getByRole("button", { name: "Try it" }).click();
  await dialog.getByText("Paste a key.").waitFor();
  await check("trying a key with an error");
  await close();
  await apiKeys.delete.mutate({ id });
}
