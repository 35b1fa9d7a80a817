import { expect, test } from "vitest";
import { enter } from "../support/visitor.ts";
import { getWorkspace } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { loseResponse } from "./lose-response.ts";
import { openKeys } from "./open-keys.ts";
import { untilFocused } from "./until-focused.ts";

// What pages show and keep when responses are slow, missing or errors.

const environment = prepareEnvironment();
const listCalls = "**/trpc/apiKeys.list*";

test("shows one failure while the server is unavailable, and recovers automatically", async () => {
  const page = await openKeys(environment, "away", 30);
  await page.route(listCalls, (route) => route.abort());
  await page.getByRole("button", { name: "Next page" }).first().click();
  const failure = page.getByText("Couldn’t load your API keys");
  await failure.waitFor();
  const swings = await page.evaluate<number>(`new Promise((done) => {
    let swings = 0;
    new MutationObserver(() => { if (document.querySelector("table")) swings += 1; })
      .observe(document.body, { childList: true, subtree: true });
    setTimeout(() => done(swings), 5_000);
  })`);
  expect(swings).toBe(0);
  const { promise: serverReturns, resolve: comeBack } = Promise.withResolvers<void>();
  // Replaces the route above without a gap, in which the page could try again.
  await page.route(listCalls, (route) => serverReturns.then(() => route.continue()));
  // The page tries again without a click.
  await page.locator("button[data-loading]").filter({ hasText: "Try again" }).waitFor();
  expect(await failure.isVisible()).toBe(true);
  expect(await page.getByRole("table").count()).toBe(0);
  comeBack();
  await page.getByText("26–30 of 30 keys").first().waitFor();
});

test("opens a page that failed to open, and removes the banner, when the server is back", async () => {
  const { page } = await environment.browser.open();
  await page.route(/\/(trpc|readyz)/, (route) => route.abort());
  await page.goto(`${environment.baseUrl}/sign-in`);
  await page.getByRole("heading", { name: "Couldn’t open this page" }).waitFor();
  const banner = page.getByText("Can’t reach the server. Retrying…");
  await banner.waitFor();
  await page.unroute(/\/(trpc|readyz)/);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await banner.waitFor({ state: "detached" });
});

test("continues automatically when the browser is online again", async () => {
  const page = await openKeys(environment, "offline", 30);
  await page.route(listCalls, (route) => route.abort());
  await page.getByRole("button", { name: "Next page" }).first().click();
  await page.getByText("Couldn’t load your API keys").waitFor();
  await page.unroute(listCalls);
  await page.context().setOffline(true);
  await page.context().setOffline(false);
  await page.getByText("26–30 of 30 keys").first().waitFor();
});

test("shows that a page or a search is loading, and keeps the focus on the pager", async () => {
  const page = await openKeys(environment, "slow", 30);
  const { promise: isAnswered, resolve: answer } = Promise.withResolvers<void>();
  await page.route(listCalls, (route) => isAnswered.then(() => route.continue()));
  const next = page.getByRole("button", { name: "Next page" }).first();
  await next.focus();
  await page.keyboard.press("Enter");
  await page.getByText("Loading…").waitFor();
  expect(await page.getByRole("table").getAttribute("aria-busy")).toBe("true");
  expect(await page.getByText("26–30 of 30 keys").count()).toBe(0);
  answer();
  await page.getByText("26–30 of 30 keys").first().waitFor();
  expect(await page.getByRole("table").getAttribute("aria-busy")).toBe("false");
  await next.and(page.locator(":focus")).waitFor();
  expect(await next.getAttribute("aria-disabled")).toBe("true");
});

test("shows in the global search that keys are being searched, or that the search failed", async () => {
  const page = await openKeys(environment, "palette", 1);
  const { promise: isAnswered, resolve: answer } = Promise.withResolvers<void>();
  await page.route(listCalls, (route) => isAnswered.then(() => route.continue()));
  await page.keyboard.press("Control+k");
  await page
    .getByRole("combobox", { name: "Search pages, keys, members, actions and request IDs" })
    .fill("zzz");
  await page.getByText("Searching keys and members…").waitFor();
  expect(await page.getByText("Nothing matches").count()).toBe(0);
  answer();
  await page.getByText("Nothing matches “zzz”.").waitFor();
  await page.unrouteAll({ behavior: "wait" });
  await page.route(listCalls, (route) => route.abort());
  await page
    .getByRole("combobox", { name: "Search pages, keys, members, actions and request IDs" })
    .fill("overview");
  await page.getByText("Couldn’t search keys and members: the server didn’t respond.").waitFor();
  await page.getByRole("option", { name: "Overview" }).waitFor();
});

test("corrects a page number and a search in the URL that are out of range", async () => {
  const page = await openKeys(environment, "address", 30);
  await page.goto(`${environment.baseUrl}/account/api-keys?page=200000`);
  await page.getByText("26–30 of 30 keys").first().waitFor();
  await page.goto(`${environment.baseUrl}/account/api-keys?q=${"x".repeat(101)}`);
  await page.getByText(`No key matches “${"x".repeat(100)}”`).waitFor();
});

test("removes messages about a key on sign-out, and reports a failed sign-out", async () => {
  const page = await openKeys(environment, "leaving", 1);
  const signOut = async () => {
    await page.getByRole("button", { name: "Account menu" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
  };
  await page.route("**/trpc/session.signOut*", (route) => route.abort());
  await signOut();
  const title = page.getByText("You are still signed in");
  await title.waitFor();
  const colors = await page.evaluate<string[]>(`(() => {
    const title = document.querySelector(".mantine-Notification-title");
    return [getComputedStyle(title).color, getComputedStyle(title.closest("[role=alert]")).backgroundColor];
  })()`);
  expect(new Set(colors).size).toBe(2);
  await page.unroute("**/trpc/session.signOut*");
  await page.getByRole("button", { name: "Edit Robot 0" }).click();
  await untilFocused(page.getByRole("dialog"));
  await page.getByRole("dialog").getByLabel("Description").fill("Mows the lawn");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText("“Robot 0” was saved.").waitFor();
  await signOut();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  expect(await page.content()).not.toContain("Robot 0");
});

// A path of no page, a malformed encoding, a path that resembles a host name, and a file that doesn't exist.
test.each(["/metrics", "/w", "/%zz", "//elsewhere.example/", "/assets/gone.js"])(
  "returns 404 with the app's own page for %s",
  async (path) => {
    const { page } = await environment.browser.reopen();
    await enter(page, environment.baseUrl, `${Buffer.from(path).toString("hex")}@example.com`);
    const response = await page.goto(environment.baseUrl + path);
    expect(response?.status()).toBe(404);
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    expect(new URL(page.url()).origin).toBe(environment.baseUrl);
  },
);

test("shows a banner while the server is unreachable or not ready, and loads the page again afterwards", async () => {
  const page = await openKeys(environment, "unreachable", 1);
  const ready = "**/readyz";
  await page.route("**/trpc/**", (route) => route.abort());
  await page.route(ready, (route) => route.abort());
  await page.getByText("Can’t reach the server. Retrying…").waitFor();
  await page.unroute(ready);
  await page.route(ready, (route) => route.fulfill({ status: 503, body: "" }));
  await page.getByText("The server isn’t ready. Retrying…").waitFor();
  await page.unrouteAll({ behavior: "wait" });
  await page.getByText("The server isn’t ready. Retrying…").waitFor({ state: "detached" });
  await page.getByText("1 key", { exact: true }).waitFor();
});

test("shows under the URL of a webhook why the server rejected it", async () => {
  const { page } = await environment.browser.open();
  await enter(page, environment.baseUrl, "webhooks@example.com");
  const { slug } = await getWorkspace(page);
  await page.goto(`${environment.baseUrl}/w/${slug}/webhooks`);
  await page.getByRole("button", { name: "New webhook" }).click();
  const url = page.getByRole("dialog").getByRole("textbox", { name: "URL" });
  await url.fill("http://example.com/webhooks");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("Enter a URL that starts with https://.").waitFor();
  await url.and(page.locator(":focus")).waitFor();
  expect(await url.getAttribute("aria-invalid")).toBe("true");
  expect(await page.getByText("The request is not valid.").count()).toBe(0);
  await url.fill("https://example.com/webhooks");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: "Copy secret" }).waitFor();
});

/** Dialogs that create something, whose form must not be sent again blindly. */
const creations = [
  { open: "New webhook", procedure: "webhooks.create", path: "webhooks", list: "webhooks" },
  { open: "New keyspace", procedure: "keyspaces.create", path: "keyspaces", list: "keyspaces" },
  {
    open: "New service account",
    procedure: "serviceAccounts.create",
    path: "members/service-accounts",
    list: "service accounts",
  },
  { open: "New API key", procedure: "apiKeys.create", path: undefined, list: "API keys" },
  { open: "New workspace", procedure: "workspaces.create", path: "settings", list: undefined },
];

test.each(creations)(
  "says after a lost response that what $open creates may exist, and lists it",
  async ({ open, procedure, path, list }) => {
    const { page } = await environment.browser.reopen();
    await enter(page, environment.baseUrl, `${procedure}@example.com`);
    const { slug } = await getWorkspace(page);
    await page.goto(`${environment.baseUrl}${path ? `/w/${slug}/${path}` : "/account/api-keys"}`);
    if (list) {
      await page.getByRole("button", { name: open }).first().click();
    } else {
      await page.getByRole("button", { name: /^Workspace: / }).click();
      await page.getByRole("menuitem", { name: open }).click();
    }
    const dialog = page.getByRole("dialog", { name: open });
    await untilFocused(dialog);
    const name = open === "New webhook" ? "https://example.com/lost" : "Lost";
    await dialog.getByLabel(open === "New webhook" ? "URL" : "Name", { exact: true }).fill(name);
    if (open === "New keyspace") await dialog.getByLabel("Prefix", { exact: true }).fill("lost");
    await loseResponse(page, procedure);
    await dialog.getByRole("button", { name: /^Create/ }).click();
    await dialog
      .getByRole("alert")
      .filter({ hasText: /The server didn’t respond\. The [a-z ]+ may have been created\./ })
      .filter({ hasText: list ? `list of ${list}` : "list of workspaces" })
      .waitFor();
    if (list) await page.getByRole("link", { name, includeHidden: true }).first().waitFor();
  },
);
