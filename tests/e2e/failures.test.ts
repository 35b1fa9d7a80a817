import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { createKey, enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

// What pages show and keep when responses are slow, missing or errors.

const environment = prepareEnvironment();
const listCalls = "**/trpc/apiKeys.list*";

/** Opens the API keys page of a new user with `count` keys. */
async function openKeys(name: string, count: number): Promise<Page> {
  const { page } = await environment.browser.reopen();
  await enter(page, environment.baseUrl, `${name}@example.com`);
  await Promise.all(Array.from({ length: count }, (_, number) => createKey(page, `Robot ${number}`)));
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("row").nth(1).waitFor();
  return page;
}

/** Rejects calls of a procedure until the route is removed. */
async function rejectCalls(page: Page, procedure: string, code: string): Promise<void> {
  const data = { code, httpStatus: 404, requestId: "req-1234" };
  const error = { code: -32004, message: "Not found", data };
  await page.route(`**/trpc/${procedure}*`, (route) => route.fulfill({ status: 404, json: [{ error }] }));
}

/** Creates a keyspace with a key for a new user. Returns the paths of their pages. */
async function addKeyspace(name: string) {
  const { page } = await environment.browser.reopen();
  await enter(page, environment.baseUrl, `${name}@example.com`);
  const { id: workspaceId, slug } = await getWorkspace(page);
  const { keyspaces, issuedKeys } = proceduresOf(page);
  const fields = { name: "Production", prefix: "acme" };
  const { id: keyspaceId } = await keyspaces.create.mutate({ workspaceId, fields });
  const issued = await issuedKeys.create.mutate({ workspaceId, keyspaceId, fields: { name: "Globex" } });
  const keyspaceList = `/w/${slug}/keyspaces`;
  const keyspace = `${keyspaceList}/${keyspaceId}`;
  return { page, keyspaceList, keyspace, key: `${keyspace}/keys/${issued.id}` };
}

/** Matches calls of a procedure, also in a batch with others. */
const callsOf = (procedure: string) => new RegExp(`/trpc/([^?]*,)?${procedure.replace(".", "\\.")}([,?]|$)`);

/** Makes calls of a procedure fail with an internal error, but not others in the same batch, until the route is removed. */
async function breakCalls(page: Page, procedure: string): Promise<void> {
  const data = { code: "INTERNAL_SERVER_ERROR", httpStatus: 500, requestId: "req-5000" };
  const error = { code: -32603, message: "Internal server error", data };
  await page.route(callsOf(procedure), async (route) => {
    const names = new URL(route.request().url()).pathname.replace("/trpc/", "").split(",");
    if (names.length === 1) return await route.fulfill({ status: 500, json: [{ error }] });
    const results: readonly unknown[] = await (await route.fetch()).json();
    const json = results.map((result, index) => (names[index] === procedure ? { error } : result));
    await route.fulfill({ status: 207, json });
  });
}

const dialogOf = (page: Page) => page.getByRole("dialog");

test("shows one failure while the server is unavailable, and recovers automatically", async () => {
  const page = await openKeys("away", 30);
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
  const page = await openKeys("offline", 30);
  await page.route(listCalls, (route) => route.abort());
  await page.getByRole("button", { name: "Next page" }).first().click();
  await page.getByText("Couldn’t load your API keys").waitFor();
  await page.unroute(listCalls);
  await page.context().setOffline(true);
  await page.context().setOffline(false);
  await page.getByText("26–30 of 30 keys").first().waitFor();
});

test("shows that a page or a search is loading, and keeps the focus on the pager", async () => {
  const page = await openKeys("slow", 30);
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
  const page = await openKeys("palette", 1);
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

test("asks before Done discards a key that was not copied; copying the curl command counts", async () => {
  const page = await openKeys("uncopied", 1);
  const dialog = dialogOf(page);
  const create = async () => {
    await page.getByRole("button", { name: "New API key" }).click();
    await dialog.getByLabel("Name").fill("Backup");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.getByRole("textbox", { name: "API key" }).waitFor();
  };
  const done = dialog.getByRole("button", { name: "Done" });
  await create();
  await done.click();
  await dialog.getByText("To close without copying it, select Done.").waitFor();
  await done.click();
  await dialog.waitFor({ state: "detached" });
  await create();
  await dialog.getByRole("button", { name: "Copy command" }).click();
  await dialog.getByText("Copied").first().waitFor();
  await done.click();
  await dialog.waitFor({ state: "detached" });
});

test("doesn't close the dialog while a deletion is in progress", async () => {
  const page = await openKeys("deleting", 1);
  const dialog = dialogOf(page);
  let goOn = () => {};
  const gate = new Promise<void>((open) => {
    goOn = open;
  });
  await page.route("**/trpc/apiKeys.delete*", async (route) => {
    await gate;
    await route.continue();
  });
  await page.getByRole("button", { name: "Delete Robot 0" }).click();
  await dialog.getByRole("button", { name: "Delete key", exact: true }).click();
  await dialog.getByRole("button", { name: "Cancel", disabled: true }).waitFor();
  await dialog.getByRole("button", { name: "Close", disabled: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.mouse.click(5, 400);
  expect(await dialog.isVisible()).toBe(true);
  goOn();
  await page.getByText("“Robot 0” was deleted.").waitFor();
});

test("reports that a key was already deleted, on deletion and on edit", async () => {
  const page = await openKeys("gone", 2);
  const dialog = dialogOf(page);
  await rejectCalls(page, "apiKeys.delete", "NOT_FOUND");
  await page.getByRole("button", { name: "Delete Robot 0" }).click();
  await dialog.getByRole("button", { name: "Delete key", exact: true }).click();
  await page.getByText("“Robot 0” was already deleted.").waitFor();
  await dialog.waitFor({ state: "detached" });
  await rejectCalls(page, "apiKeys.update", "NOT_FOUND");
  await page.getByRole("button", { name: "Edit Robot 1" }).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("This key was deleted. Your changes weren’t saved.").waitFor();
});

test("moves the focus to the field that an error is about", async () => {
  const page = await openKeys("rejected", 1);
  const dialog = dialogOf(page);
  await page.route("**/trpc/apiKeys.*", (route) =>
    route.request().method() === "POST" ? route.abort() : route.continue(),
  );
  const alert = page.getByRole("alert").filter({ hasText: "The server didn’t respond." });
  await page.getByRole("button", { name: "New API key" }).click();
  await dialog.getByLabel("Name").fill("Backup");
  await page.keyboard.press("Enter");
  await alert.and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("button", { name: "Delete Robot 0" }).click();
  await dialog.getByRole("button", { name: "Delete key", exact: true }).click();
  await alert.and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Escape");
  await page.unroute("**/trpc/apiKeys.*");

  const issues = [{ path: "description", code: "too_long", message: "Not like this." }];
  const data = { code: "BAD_REQUEST", httpStatus: 400, requestId: "req-1234", issues };
  const error = { code: -32600, message: "The request is not valid", data };
  await page.route("**/trpc/apiKeys.update*", (route) => route.fulfill({ status: 400, json: [{ error }] }));
  await page.getByRole("button", { name: "Edit Robot 0" }).click();
  await dialog.getByLabel("Name").press("Enter");
  await dialog.getByText("Not like this.").waitFor();
  await dialog.getByLabel("Description").and(page.locator(":focus")).waitFor();
});

test("keeps typed data after a click outside the dialog", async () => {
  const page = await openKeys("beside", 1);
  const dialog = dialogOf(page);
  for (const button of ["New API key", "Edit Robot 0"]) {
    await page.getByRole("button", { name: button }).click();
    await dialog.getByLabel("Name").waitFor();
    await page.mouse.click(5, 400);
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: button }).click();
    await dialog.getByLabel("Name").fill("Something else");
    await page.mouse.click(5, 400);
    await page.getByRole("button", { name: "Keep editing" }).click();
    expect(await dialog.getByLabel("Name").inputValue()).toBe("Something else");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
  }
});

test("corrects a page number and a search in the URL that are out of range", async () => {
  const page = await openKeys("address", 30);
  await page.goto(`${environment.baseUrl}/account/api-keys?page=200000`);
  await page.getByText("26–30 of 30 keys").first().waitFor();
  await page.goto(`${environment.baseUrl}/account/api-keys?q=${"x".repeat(101)}`);
  await page.getByText(`No key matches “${"x".repeat(100)}”`).waitFor();
});

test("removes messages about a key on sign-out, and reports a failed sign-out", async () => {
  const page = await openKeys("leaving", 1);
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
  await dialogOf(page).getByRole("button", { name: "Save" }).click();
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

test("reports that a dialog can't be loaded, and opens it after a reload", async () => {
  const page = await openKeys("lazy", 1);
  const files = "**/assets/new-api-key-dialog*";
  await page.route(files, (route) => route.abort());
  await page.getByRole("button", { name: "New API key" }).click();
  await page.getByText("Couldn’t load this part of the app").waitFor();
  expect(await dialogOf(page).count()).toBe(0);
  await page.unroute(files);
  await page.reload();
  await page.getByRole("button", { name: "New API key" }).click();
  await dialogOf(page).getByLabel("Name", { exact: true }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Escape");
  await dialogOf(page).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "New API key" }).and(page.locator(":focus")).waitFor();
});

test("creates a key from a template, with every invalid field shown together", async () => {
  const page = await openKeys("template", 1);
  const dialog = dialogOf(page);
  await page.getByRole("button", { name: "New API key" }).click();
  const choose = async (template: RegExp) => {
    await dialog.getByRole("combobox", { name: "Template" }).click();
    await page.getByRole("option", { name: template }).click();
  };
  const review = dialog.getByRole("region", { name: "Review" });
  await choose(/^Read only/);
  await review.getByText("Read only").first().waitFor();
  await choose(/^One workspace/);
  await review.getByText("Ada Lovelace’s workspace").first().waitFor();
  expect(await review.getByText("Read only").count()).toBe(0);
  await choose(/^CI job/);
  for (const text of ["100 requests per minute", "In 30 days", "Any IP address"])
    await review.getByText(text, { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Restrict this key" }).click();
  await dialog.getByLabel("Rate limit", { exact: true }).fill("none");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByText("Enter a name").waitFor();
  await dialog.getByText("Enter a whole number").waitFor();
  await dialog.getByLabel("Name", { exact: true }).and(page.locator(":focus")).waitFor();
  await dialog.getByLabel("Name", { exact: true }).fill("CI");
  await dialog.getByLabel("Rate limit", { exact: true }).fill("7");
  // An invalid group of choices gets the focus too.
  await dialog.getByRole("radio", { name: "Selected permissions" }).check();
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByRole("radio", { name: "Selected permissions" }).and(page.locator(":focus")).waitFor();
  await dialog.getByText("Select at least one permission").waitFor();
  await dialog.getByRole("radio", { name: "All permissions of your role" }).check();
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByRole("textbox", { name: "API key" }).waitFor();
  const { items } = await proceduresOf(page).apiKeys.list.query({});
  expect(items).toMatchObject([
    { name: "CI", limit: { quota: 7, windowSeconds: 60 }, workspaceIds: [expect.stringMatching(/^ws_/)] },
    { name: "Robot 0" },
  ]);
});

test("opens collapsed restrictions that are invalid, and keeps them open while they are corrected", async () => {
  const page = await openKeys("collapsed", 1);
  const dialog = dialogOf(page);
  await page.getByRole("button", { name: "New API key" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill("CI");
  const toggle = dialog.getByRole("button", { name: "Restrict this key" });
  const limit = dialog.getByLabel("Rate limit", { exact: true });
  await toggle.click();
  await limit.fill("0");
  await toggle.click();
  await limit.waitFor({ state: "detached" });
  await dialog.getByRole("button", { name: "Create key" }).click();
  await limit.and(page.locator(":focus")).waitFor();
  await limit.press("End");
  await page.keyboard.type("7");
  await dialog.getByText("Enter a whole number").waitFor({ state: "detached" });
  await page.keyboard.type("5");
  await limit.and(page.locator(":focus")).waitFor();
  await dialog.getByRole("region", { name: "Review" }).getByText("75 requests per minute").waitFor();
});

test("the review of a new key says that the date of its expiry is missing", async () => {
  const page = await openKeys("date", 1);
  const dialog = dialogOf(page);
  await page.getByRole("button", { name: "New API key" }).click();
  await dialog.getByRole("combobox", { name: "Expires" }).click();
  await page.getByRole("option", { name: "On a date" }).click();
  const review = dialog.getByRole("region", { name: "Review" });
  await review.getByText("No date entered").waitFor();
  await dialog.getByLabel("Date and time").fill("2100-03-01T09:30");
  await review.getByText(/2100/).waitFor();
});

test("shows a banner while the server is unreachable or not ready, and loads the page again afterwards", async () => {
  const page = await openKeys("unreachable", 1);
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

test("shows on the pages of keyspaces and issued keys what failed, and continues when the server is back", async () => {
  const { page, keyspaceList, keyspace, key } = await addKeyspace("keyspace-failures");
  const content = (name: string) => page.getByRole("heading", { name, exact: true, level: 1 });
  for (const { path, procedure, failure, shown } of [
    {
      path: keyspaceList,
      procedure: "keyspaces.list",
      failure: "Couldn’t load keyspaces",
      shown: page.getByRole("link", { name: "Production" }),
    },
    {
      path: keyspace,
      procedure: "keyspaces.get",
      failure: "Couldn’t load the keyspace",
      shown: content("Production"),
    },
    {
      path: keyspace,
      procedure: "issuedKeys.list",
      failure: "Couldn’t load keys",
      shown: page.getByRole("link", { name: "Globex" }),
    },
    {
      path: key,
      procedure: "issuedKeys.get",
      failure: "Couldn’t load the key",
      shown: content("Globex"),
    },
  ]) {
    await breakCalls(page, procedure);
    await page.goto(environment.baseUrl + path);
    await page.getByText(failure, { exact: true }).waitFor();
    await page.getByText("req-5000").first().waitFor();
    expect(await shown.count()).toBe(0);
    await page.unroute(callsOf(procedure));
    await page.getByRole("button", { name: "Try again" }).first().click();
    await shown.waitFor();
    await page.getByText(failure, { exact: true }).waitFor({ state: "detached" });
    // The page also reports a lost connection, and loads again by itself when the connection is back.
    await page.route(callsOf(procedure), (route) => route.abort());
    await page.goto(environment.baseUrl + path);
    await page
      .getByText(/^Couldn’t load/)
      .first()
      .waitFor();
    await page.unroute(callsOf(procedure));
    await page.context().setOffline(true);
    await page.context().setOffline(false);
    await shown.waitFor();
  }
});

test("keeps the input of a keyspace and of an issued key if saving fails, and saves it afterwards", async () => {
  const { page, keyspaceList, keyspace, key } = await addKeyspace("keyspace-input");
  const dialog = dialogOf(page);
  const name = dialog.getByLabel("Name", { exact: true });
  for (const { path, open, action, procedure } of [
    { path: keyspaceList, open: "New keyspace", action: "Create keyspace", procedure: "keyspaces.create" },
    { path: keyspace, open: "Edit", action: "Save", procedure: "keyspaces.update" },
    { path: keyspace, open: "Issue key", action: "Issue key", procedure: "issuedKeys.create" },
    { path: key, open: "Edit", action: "Save", procedure: "issuedKeys.update" },
  ]) {
    await page.goto(environment.baseUrl + path);
    await page.getByRole("button", { name: open, exact: true }).click();
    await name.fill("Initech");
    if (open === "New keyspace") await dialog.getByLabel("Prefix", { exact: true }).fill("initech");
    const save = () => dialog.getByRole("button", { name: action, exact: true }).click();
    await page.route(callsOf(procedure), (route) => route.abort());
    await save();
    const alert = dialog.getByRole("alert");
    await alert.filter({ hasText: "The server didn’t respond." }).and(page.locator(":focus")).waitFor();
    await page.unroute(callsOf(procedure));
    await breakCalls(page, procedure);
    await save();
    await alert.filter({ hasText: "req-5000" }).waitFor();
    expect(await name.inputValue()).toBe("Initech");
    await page.unroute(callsOf(procedure));
    await save();
    if (procedure === "issuedKeys.create") {
      await dialog.getByRole("textbox", { name: "Key", exact: true }).waitFor();
      await dialog.getByRole("button", { name: "Copy command" }).click();
      await dialog.getByRole("button", { name: "Done" }).click();
    }
    await dialog.waitFor({ state: "detached" });
    await page.getByText("Initech").first().waitFor();
  }
});
