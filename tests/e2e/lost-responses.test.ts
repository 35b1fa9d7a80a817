import { TOTP } from "otpauth";
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { enter, visitor } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";
import { loseResponse } from "./lose-response.ts";
import { untilFocused } from "./until-focused.ts";

// Changes that the server makes although its response doesn't arrive: new secrets, second factors and a password. Each test
// continues where the previous one ended.

const environment = prepareEnvironment();

let page: Page;
let workspaceId: string;
let slug: string;

beforeAll(async () => {
  ({ page } = await environment.browser.open());
  await enter(page, environment.baseUrl);
  ({ id: workspaceId, slug } = await getWorkspace(page));
});

const dialog = () => page.getByRole("dialog");
const alertWith = (text: string) => dialog().getByRole("alert").filter({ hasText: text });

async function cancel(): Promise<void> {
  await dialog().getByRole("button", { name: "Cancel" }).click();
  await dialog().waitFor({ state: "detached" });
}

test("says that a key may have been rotated, and shows its old secret", async () => {
  await proceduresOf(page).apiKeys.create.mutate({ name: "Deploys" });
  await page.goto(`${environment.baseUrl}/account/api-keys`);
  await page.getByRole("link", { name: "Deploys" }).click();
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  await untilFocused(dialog());
  await loseResponse(page, "apiKeys.rotate");
  await dialog().getByRole("button", { name: "Rotate key" }).click();
  await alertWith("The key may have a new secret, which can’t be shown.").waitFor();
  await page.getByRole("button", { name: "Revoke old secret", includeHidden: true }).waitFor();
  await cancel();
});

test("says that issued keys may have been rotated, and shows their new first characters and old secrets", async () => {
  const { keyspaces, issuedKeys } = proceduresOf(page);
  const fields = { name: "Production", prefix: "sk_live" };
  const { id: keyspaceId } = await keyspaces.create.mutate({ workspaceId, fields });
  const path = { workspaceId, keyspaceId };
  const names = ["Web", "Mobile"];
  for (const name of names) await issuedKeys.create.mutate({ ...path, fields: { name } });
  await page.goto(`${environment.baseUrl}/w/${slug}/keyspaces/${keyspaceId}`);
  for (const name of names) await page.getByRole("checkbox", { name: `Select ${name}` }).check();
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  await untilFocused(dialog());
  await loseResponse(page, "issuedKeyBulk.rotate");
  const listStarts = () => page.getByRole("row").locator("code").allTextContents();
  const starts = await listStarts();
  expect(starts).toHaveLength(2);
  await dialog().getByRole("button", { name: "Rotate 2 keys" }).click();
  await alertWith("The keys may have new secrets, which can’t be shown.").waitFor();
  const countNew = async () => (await listStarts()).filter((start) => !starts.includes(start)).length;
  await expect.poll(countNew).toBe(2);
  await cancel();
  await page.getByRole("link", { name: "Web", exact: true }).click();
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  await untilFocused(dialog());
  await loseResponse(page, "issuedKeys.rotate");
  await dialog().getByRole("button", { name: "Rotate key" }).click();
  await alertWith("The key may have a new secret, which can’t be shown.").waitFor();
  await page.getByRole("button", { name: "Revoke old secrets", includeHidden: true }).waitFor();
  await cancel();
});

test("says that an authenticator app may have been set up, and shows it", async () => {
  await page.goto(`${environment.baseUrl}/account/security`);
  await page.getByRole("button", { name: "Set up an authenticator app" }).click();
  const secret = ((await dialog().locator("code").textContent()) ?? "").replaceAll(" ", "");
  const code = dialog().getByRole("textbox", { name: "Code" });
  await code.fill(new TOTP({ secret }).generate());
  await loseResponse(page, "factors.enableTotp");
  await dialog().getByRole("button", { name: "Set up" }).click();
  await alertWith("The authenticator app may have been set up, so keep its entry.").waitFor();
  await page.getByText("10 unused codes.").waitFor();
  // Another attempt doesn't lead to a second setup.
  await dialog().getByRole("button", { name: "Set up" }).click();
  await alertWith("Your authenticator app is already set up.").waitFor();
  await cancel();
  await page.getByRole("button", { name: "Remove the authenticator app" }).waitFor();
});

test("says that the recovery codes may have been replaced, and creates new ones at the next attempt", async () => {
  await environment.change("delete from recovery_codes");
  await page.reload();
  await page.getByText("0 unused codes.").waitFor();
  await page.getByRole("button", { name: "Create new codes" }).click();
  await loseResponse(page, "factors.createRecoveryCodes");
  await dialog().getByRole("button", { name: "Create new codes" }).click();
  await alertWith("Your current codes may have stopped working.").waitFor();
  await page.getByText("10 unused codes.").waitFor();
  await dialog().getByRole("button", { name: "Create new codes" }).click();
  const codes = page.getByRole("dialog", { name: "Your recovery codes" });
  await expect.poll(() => codes.getByRole("listitem").count()).toBe(10);
  await codes.getByRole("button", { name: "Copy recovery codes" }).click();
  await codes.getByRole("button", { name: "Done" }).click();
});

test("says that the password may have been changed", async () => {
  await page.goto(`${environment.baseUrl}/account/profile`);
  await page.getByLabel("Current password").fill(visitor.password);
  await page.getByLabel("New password").fill("a changed password 1843");
  await loseResponse(page, "account.changePassword");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("alert").filter({ hasText: "your current password is the new one." }).waitFor();
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("This is not your current password.").waitFor();
});
