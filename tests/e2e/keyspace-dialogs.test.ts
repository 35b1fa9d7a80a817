import type { Page } from "playwright-core";
import { test } from "vitest";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

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
  ["a key", () => key, ["Try a key", "Edit", "Rotate", "Change balance", "Disable key", "Delete key"]],
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
  await dialog().getByRole("button", { name: "Add rate limit" }).press("Enter");
  await dialog().getByLabel("Quota").press("Enter");
  await dialog().getByText("Enter a name.").waitFor();
  await dialog().getByLabel("Name", { exact: true }).and(page.locator(":focus")).waitFor();
});
