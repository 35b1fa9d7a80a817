import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { callsOf, loseResponse } from "./lose-response.ts";
import { untilFocused } from "./until-focused.ts";

// What the pages and dialogs of keyspaces and issued keys show and keep when calls fail, or when others change something.

const environment = prepareEnvironment();

/** Creates a keyspace with a key for a new user. Returns the paths of their pages. */
async function addKeyspace(name: string) {
  const { page } = await environment.browser.reopen();
  await enter(page, environment.baseUrl, `${name}@example.com`);
  const { id: workspaceId, slug } = await getWorkspace(page);
  const { keyspaces, issuedKeys } = proceduresOf(page);
  const fields = { name: "Production", prefix: "acme" };
  const { id: keyspaceId } = await keyspaces.create.mutate({ workspaceId, fields });
  const issued = await issuedKeys.create.mutate({
    workspaceId,
    keyspaceId,
    fields: { name: "Globex", credits: { remaining: 100 } },
  });
  const keyspaceList = `/w/${slug}/keyspaces`;
  const keyspace = `${keyspaceList}/${keyspaceId}`;
  return { page, workspaceId, keyspaceId, keyspaceList, keyspace, key: `${keyspace}/keys/${issued.id}` };
}

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
    // The button was removed.
    await page.locator("#content").and(page.locator(":focus")).waitFor();
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
    expect(await page.locator("#content:focus").count()).toBe(0);
  }
});

test("shows a search that couldn't be completed as a failure, not as a list without matches", async () => {
  const { page, keyspace } = await addKeyspace("incomplete-search");
  let isBroken = true;
  await page.route(callsOf("issuedKeys.list"), async (route) => {
    const { searchParams } = new URL(route.request().url());
    const input = searchParams.get("input") ?? "";
    if (!input.includes('"search"')) return await route.continue();
    if (!input.includes('"cursor"'))
      return await route.fulfill({ json: [{ result: { data: { items: [], nextCursor: "next" } } }] });
    if (isBroken) return await route.abort();
    // As the last examined page of the search.
    const url = new URL(route.request().url());
    url.searchParams.set("input", input.replace(',"cursor":"next"', "").replace('"cursor":"next",', ""));
    await route.continue({ url: url.href });
  });
  await page.goto(`${environment.baseUrl}${keyspace}?q=globex`);
  await page.getByText("Couldn’t load keys", { exact: true }).waitFor();
  expect(await page.getByText("No key matches").count()).toBe(0);
  isBroken = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: "Globex" }).waitFor();
  await page.getByText("Couldn’t load keys", { exact: true }).waitFor({ state: "detached" });
  await page.unrouteAll();
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
    await untilFocused(dialog);
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

test("after a lost response, says that the balance may have changed, and shows the current one", async () => {
  const { page, key } = await addKeyspace("lost-credits");
  const dialog = dialogOf(page);
  await page.goto(environment.baseUrl + key);
  await page.getByRole("button", { name: "Change balance" }).click();
  await untilFocused(dialog);
  await dialog.getByText("The balance is 100.").waitFor();
  await loseResponse(page, "issuedKeyCredits.change");
  await page.route(callsOf("issuedKeys.get"), (route) => route.abort());
  await dialog.getByRole("textbox", { name: "Credits" }).fill("500");
  await dialog.getByRole("button", { name: "Change balance" }).click();
  const alert = dialog.getByRole("alert");
  const isUnknown = "The server didn’t respond. The change may have been made.";
  await alert
    .filter({ hasText: `${isUnknown} Loading the current balance…` })
    .and(page.locator(":focus"))
    .waitFor();
  await page.unroute(callsOf("issuedKeys.get"));
  await alert.filter({ hasText: `${isUnknown} The balance below was loaded after that.` }).waitFor();
  await dialog.getByText("The balance is 600.").waitFor();
});

test("after a lost response, says that the key may have been issued, and lists it", async () => {
  const { page, keyspace } = await addKeyspace("lost-key");
  const dialog = dialogOf(page);
  await page.goto(environment.baseUrl + keyspace);
  await page.getByRole("button", { name: "Issue key", exact: true }).click();
  await untilFocused(dialog);
  await dialog.getByLabel("Name", { exact: true }).fill("Initech");
  await loseResponse(page, "issuedKeys.create");
  await dialog.getByRole("button", { name: "Issue key", exact: true }).click();
  await dialog.getByRole("alert").filter({ hasText: "The key may have been issued." }).waitFor();
  await page.getByRole("link", { name: "Initech", includeHidden: true }).waitFor();
});

test("issues a key with the lifetime that the form showed, although the default was changed since", async () => {
  const { page, workspaceId, keyspaceId, keyspace } = await addKeyspace("former-default");
  const { keyspaces, issuedKeys } = proceduresOf(page);
  const path = { workspaceId, keyspaceId };
  const setLifetime = async (defaultLifetimeDays: number) => {
    const { version } = await keyspaces.get.query(path);
    await keyspaces.update.mutate({ ...path, version, changes: { defaultLifetimeDays } });
  };
  await setLifetime(30);
  const dialog = dialogOf(page);
  await page.goto(environment.baseUrl + keyspace);
  await page.getByRole("button", { name: "Issue key", exact: true }).click();
  await untilFocused(dialog);
  await dialog.getByLabel("Name", { exact: true }).fill("Initech");
  await setLifetime(1);
  await dialog.getByRole("button", { name: "Issue key", exact: true }).click();
  await dialog.getByRole("textbox", { name: "Key", exact: true }).waitFor();
  const { items } = await issuedKeys.list.query({ ...path, search: "Initech" });
  const [days] = items.map(({ createdAt, expiresAt }) => Date.parse(expiresAt ?? "") - Date.parse(createdAt));
  expect(Math.round((days ?? 0) / 86_400_000)).toBe(30);
  await dialog.getByRole("button", { name: "Copy command" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
});
