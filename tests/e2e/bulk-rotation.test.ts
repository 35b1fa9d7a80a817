import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { holdCall } from "./hold-call.ts";
import { stayDuringCall } from "./stay-during-call.ts";

// Rotates several keys of a keyspace together. Each test continues where the previous one ended.

let page: Page;
let path: { readonly workspaceId: string; readonly keyspaceId: string };
let keyspaceUrl: string;
/** The current secrets of the keys of the consumer `acme`. */
let secrets: readonly string[];

prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page } = await browser.open());
  await enter(page, baseUrl);
  const { id: workspaceId, slug } = await getWorkspace(page);
  const fields = { name: "Production", prefix: "sk_live" };
  const { keyspaces, issuedKeys } = proceduresOf(page);
  const { id: keyspaceId } = await keyspaces.create.mutate({ workspaceId, fields });
  path = { workspaceId, keyspaceId };
  keyspaceUrl = `${baseUrl}/w/${slug}/keyspaces/${keyspaceId}`;
  const issue = async (name: string, externalId: string) =>
    (await issuedKeys.create.mutate({ ...path, fields: { name, externalId } })).key;
  secrets = [await issue("=Web", "acme"), await issue("Mobile", "acme")];
  await issue("Other", "globex");
});

const dialog = () => page.getByRole("dialog");

/** The codes of verifications that spend nothing. */
async function codesOf(keys: readonly string[]): Promise<readonly string[]> {
  const { issuedKeys } = proceduresOf(page);
  return await Promise.all(
    keys.map(async (key) => (await issuedKeys.verify.mutate({ ...path, key, cost: 0 })).code),
  );
}

/** Downloads the file with the new secrets. Returns the secrets, in the order of the rows. */
async function download(): Promise<readonly string[]> {
  const downloading = page.waitForEvent("download");
  await dialog().getByRole("button", { name: "Download CSV" }).click();
  const file = await downloading;
  expect(file.suggestedFilename()).toBe("rotated-keys.csv");
  const rows = (await readFile(await file.path(), "utf8")).trimEnd().split("\r\n");
  const row = (name: string) => expect.stringMatching(new RegExp(`^ikey_\\w+,${name},acme,sk_live_\\w{36}$`));
  expect(rows).toEqual(["id,name,externalId,key", row('"\'=Web"'), row("Mobile")]);
  return rows.slice(1).map((text) => text.split(",").at(-1) ?? "");
}

test("selected keys get new secrets, which are offered as a file, and the old ones stay valid for the overlap", async () => {
  await page.goto(keyspaceUrl);
  for (const name of ["=Web", "Mobile"]) await page.getByRole("checkbox", { name: `Select ${name}` }).check();
  await page.getByText("2 keys selected").waitFor();
  await page.getByRole("button", { name: "Rotate", exact: true }).press("Enter");
  await dialog().getByText("2 keys get new secrets and keep their settings.").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await stayDuringCall(page, "issuedKeyBulk.rotate", () =>
    dialog().getByRole("button", { name: "Rotate 2 keys" }).click(),
  );
  await dialog().getByText("2 keys were rotated.").waitFor();
  await dialog().getByText("would interpret as a formula begins with an apostrophe.").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.getByText("2 keys selected").waitFor({ state: "detached" });
  const rotated = await download();
  expect(await page.content()).not.toContain(rotated[0]);
  await dialog().getByRole("button", { name: "Done" }).click();
  await dialog().waitFor({ state: "detached" });
  expect(await codesOf([...secrets, ...rotated])).toEqual(["VALID", "VALID", "VALID", "VALID"]);
  secrets = rotated;
});

test("all keys of a consumer are rotated without an overlap, and closing without the file needs a second attempt", async () => {
  await page.goto(`${keyspaceUrl}/consumers/acme`);
  // What follows the keys is loaded when it is scrolled into view.
  await page.getByRole("region", { name: "Usage", exact: true }).scrollIntoViewIfNeeded();
  await page.getByRole("button", { name: "Rotate all keys" }).press("Enter");
  await dialog().getByRole("radio", { name: "Revoke immediately" }).check();
  await dialog().getByRole("button", { name: "Rotate 2 keys" }).click();
  await dialog().getByText("2 keys were rotated.").waitFor();
  await page.keyboard.press("Escape");
  await dialog().getByText("You haven’t downloaded the new secrets").waitFor();
  await page.setViewportSize({ width: 375, height: 800 });
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  const rotated = await download();
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
  expect(await codesOf([...secrets, ...rotated])).toEqual(["NOT_FOUND", "NOT_FOUND", "VALID", "VALID"]);
});

test("a rotation that ends after the user left the page doesn't return them to the keys", async () => {
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.goto(keyspaceUrl);
  await page.getByRole("checkbox", { name: "Select Other" }).check();
  await page.getByRole("button", { name: "Rotate", exact: true }).press("Enter");
  const call = await holdCall(page, "issuedKeyBulk.rotate");
  await dialog().getByRole("button", { name: "Rotate 1 key" }).click();
  await call.isSent;
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Profile" }).press("Enter");
  await page
    .getByRole("dialog", { name: "Leave this page?" })
    .getByRole("button", { name: "Leave page" })
    .click();
  await page.getByRole("heading", { name: "Profile", level: 1 }).waitFor();
  const response = page.waitForResponse(/issuedKeyBulk\.rotate/);
  call.release();
  await (await response).finished();
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  expect(new URL(page.url()).pathname).toBe("/account/profile");
});

test("says that no key was rotated if all of them were deleted since they were selected", async () => {
  const { issuedKeys } = proceduresOf(page);
  await page.goto(keyspaceUrl);
  await page.getByRole("checkbox", { name: "Select Other" }).check();
  await page.getByRole("button", { name: "Rotate", exact: true }).press("Enter");
  await dialog().getByText("1 key gets a new secret").waitFor();
  const { items } = await issuedKeys.list.query({ ...path, search: "Other" });
  for (const { id } of items) await issuedKeys.delete.mutate({ ...path, id });
  await dialog().getByRole("button", { name: "Rotate 1 key" }).click();
  await dialog().getByRole("heading", { name: "No key was rotated" }).waitFor();
  await dialog().getByText("No key was rotated. 1 key was already deleted.").waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Done" }).click();
  await dialog().waitFor({ state: "detached" });
});
