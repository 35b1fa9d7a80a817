import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { untilFocused } from "./until-focused.ts";

// The focus in the dialogs of the pages of keyspaces, and after them.

let page: Page;
let keyspaces: string;
let keyspace: string;
let key: string;
let consumer: string;

prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page } = await browser.open());
  await enter(page, baseUrl);
  const { id: workspaceId, slug } = await getWorkspace(page);
  const fields = { name: "Production", prefix: "sk_live" };
  const { id: keyspaceId } = await proceduresOf(page).keyspaces.create.mutate({ workspaceId, fields });
  const { id } = await proceduresOf(page).issuedKeys.create.mutate({
    ...{ workspaceId, keyspaceId },
    fields: { name: "Acme", externalId: "acme", credits: { remaining: 5 } },
  });
  const rotation = { workspaceId, keyspaceId, id, overlapSeconds: 3_600 };
  await proceduresOf(page).issuedKeys.rotate.mutate(rotation);
  keyspaces = `${baseUrl}/w/${slug}/keyspaces`;
  keyspace = `${keyspaces}/${keyspaceId}`;
  key = `${keyspace}/keys/${id}`;
  consumer = `${keyspace}/consumers/acme`;
});

const dialog = () => page.getByRole("dialog");
const button = (name: string) => page.getByRole("button", { name, exact: true });

test.each([
  ["the list", () => keyspaces, ["New keyspace"]],
  [
    "a keyspace",
    () => keyspace,
    ["Try a key", "Edit", "Import keys", "Issue key", "Disable keyspace", "Delete keyspace"],
  ],
  [
    "a key",
    () => key,
    ["Try a key", "Edit", "Rotate", "Change balance", "Revoke old secret", "Disable key", "Delete key"],
  ],
  ["a consumer", () => consumer, ["Issue key", "Edit limits"]],
] as const)(
  "Enter opens each dialog of %s with the focus in it, and Escape returns the focus",
  async (_page, url, names) => {
    await page.goto(url());
    for (const name of names) {
      await button(name).first().press("Enter");
      await dialog().locator(":focus").waitFor();
      await page.keyboard.press("Escape");
      await dialog().waitFor({ state: "detached" });
      await button(name).first().and(page.locator(":focus")).waitFor();
    }
  },
);

test("the first invalid field on the form gets the focus, even if a rate limit below it is invalid too", async () => {
  await page.goto(keyspaces);
  await button("New keyspace").press("Enter");
  await untilFocused(dialog());
  await dialog().getByRole("button", { name: "Add rate limit" }).press("Enter");
  await dialog().getByLabel("Limit name").and(page.locator(":focus")).waitFor();
  await dialog().getByLabel("Quota").press("Enter");
  await dialog().getByText("Enter a name.").waitFor();
  await dialog().getByLabel("Name", { exact: true }).and(page.locator(":focus")).waitFor();
});

/** Whether the focused field is below the sticky title of the dialog, and above its sticky buttons. */
async function isFocusUncovered(): Promise<boolean> {
  const [title, field, buttons] = await Promise.all([
    dialog().locator("header").boundingBox(),
    dialog().locator(":focus").boundingBox(),
    dialog().getByRole("button", { name: "Cancel" }).locator("..").boundingBox(),
  ]);
  if (!title || !field || !buttons) throw new Error("The dialog is not shown.");
  return field.y >= title.y + title.height && field.y + field.height <= buttons.y;
}

/** Scrolls the form until the title covers a field. */
async function scrollBelowTitle(field: Locator): Promise<void> {
  await field.hover();
  const top = async (locator: Locator) => (await locator.boundingBox())?.y ?? Number.NaN;
  const titleTop = await top(dialog().locator("header"));
  await page.mouse.wheel(0, (await top(field)) - titleTop - 8);
  await expect.poll(async () => (await top(field)) - titleTop).toBeLessThan(16);
}

test.each([
  ["New keyspace", () => keyspaces, "Create keyspace", "Name", ""],
  ["Issue key", () => keyspace, "Issue key", "Permissions", "Documents!"],
] as const)(
  "the title of %s covers no invalid field, and the buttons cover no field at the end",
  async (name, url, action, field, invalid) => {
    await page.goto(url());
    await button(name).press("Enter");
    await untilFocused(dialog());
    await dialog().getByLabel(field, { exact: true }).fill(invalid);
    await dialog().getByRole("button", { name: "Add rate limit" }).press("Enter");
    await dialog().getByLabel("Limit name").and(page.locator(":focus")).last().waitFor();
    // Scrolls to the end of the form.
    await dialog().getByLabel("Balance").fill("5");
    expect(await isFocusUncovered()).toBe(true);
    await scrollBelowTitle(dialog().getByLabel(field, { exact: true }));
    await dialog().getByRole("button", { name: action }).click();
    await dialog().getByLabel(field, { exact: true }).and(page.locator(":focus")).waitFor();
    expect(await isFocusUncovered()).toBe(true);
  },
);

test("the focus on a button that stays visible doesn't scroll the form", async () => {
  await page.goto(keyspaces);
  await button("New keyspace").press("Enter");
  await untilFocused(dialog());
  const field = dialog().getByLabel("Lifetime in days");
  await field.focus();
  await dialog().getByRole("button", { name: "Add rate limit" }).focus();
  const before = await field.boundingBox();
  for (const name of ["Cancel", "Create keyspace", "Close"]) {
    await dialog().getByRole("button", { name }).focus();
    expect(await field.boundingBox()).toEqual(before);
  }
});
