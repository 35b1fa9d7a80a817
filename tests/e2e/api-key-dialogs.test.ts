import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { openKeys } from "./open-keys.ts";
import { untilFocused } from "./until-focused.ts";

// The dialogs that create, edit and delete API keys, with invalid input and when calls fail.

const environment = prepareEnvironment();

/** Rejects calls of a procedure until the route is removed. */
async function rejectCalls(page: Page, procedure: string, code: string): Promise<void> {
  const data = { code, httpStatus: 404, requestId: "req-1234" };
  const error = { code: -32004, message: "Not found", data };
  await page.route(`**/trpc/${procedure}*`, (route) => route.fulfill({ status: 404, json: [{ error }] }));
}

const dialogOf = (page: Page) => page.getByRole("dialog");

test("asks before Done discards a key that was not copied; copying the curl command counts", async () => {
  const page = await openKeys(environment, "uncopied", 1);
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
  const page = await openKeys(environment, "deleting", 1);
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
  const page = await openKeys(environment, "gone", 2);
  const dialog = dialogOf(page);
  await rejectCalls(page, "apiKeys.delete", "NOT_FOUND");
  await page.getByRole("button", { name: "Delete Robot 0" }).click();
  await dialog.getByRole("button", { name: "Delete key", exact: true }).click();
  await page.getByText("“Robot 0” was already deleted.").waitFor();
  await dialog.waitFor({ state: "detached" });
  await rejectCalls(page, "apiKeys.update", "NOT_FOUND");
  await page.getByRole("button", { name: "Edit Robot 1" }).click();
  await untilFocused(dialog);
  await dialog.getByLabel("Description").fill("Mows the lawn");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("This key was deleted. Your changes weren’t saved.").waitFor();
});

test("moves the focus to the field that an error is about", async () => {
  const page = await openKeys(environment, "rejected", 1);
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
  await untilFocused(dialog);
  await dialog.getByLabel("Description").fill("Mows the lawn");
  await dialog.getByLabel("Name").press("Enter");
  await dialog.getByText("Not like this.").waitFor();
  await dialog.getByLabel("Description").and(page.locator(":focus")).waitFor();
});

test("keeps typed data after a click outside the dialog", async () => {
  const page = await openKeys(environment, "beside", 1);
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

test("reports that a dialog can't be loaded, and opens it after a reload", async () => {
  const page = await openKeys(environment, "lazy", 1);
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
  const page = await openKeys(environment, "template", 1);
  const dialog = dialogOf(page);
  await page.getByRole("button", { name: "New API key" }).click();
  await untilFocused(dialog);
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
  const page = await openKeys(environment, "collapsed", 1);
  const dialog = dialogOf(page);
  await page.getByRole("button", { name: "New API key" }).click();
  await untilFocused(dialog);
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
  const page = await openKeys(environment, "date", 1);
  const dialog = dialogOf(page);
  await page.getByRole("button", { name: "New API key" }).click();
  await untilFocused(dialog);
  await dialog.getByRole("combobox", { name: "Expires" }).click();
  await page.getByRole("option", { name: "On a date" }).click();
  const review = dialog.getByRole("region", { name: "Review" });
  await review.getByText("No date entered").waitFor();
  await dialog.getByLabel("Date and time").fill("2100-03-01T09:30");
  await review.getByText(/2100/).waitFor();
});
