import type { Page } from "playwright-core";
import type { StatesVisit } from "./states.ts";

/** Takes the dialogs of keyspaces and issued keys. */
export async function takeKeyspaceStates(
  page: Page,
  { baseUrl, slug, keyspaceId, issuedKeyId, take }: StatesVisit,
): Promise<void> {
  const dialog = page.getByRole("dialog");
  const inView = { fullPage: false };
  const close = async () => {
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  };
  const keyspace = `${baseUrl}/w/${slug}/keyspaces/${keyspaceId}`;
  const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
  await page.goto(`${baseUrl}/w/${slug}/keyspaces`);
  await press("New keyspace");
  await dialog.getByRole("button", { name: "Add rate limit" }).click();
  await dialog.getByLabel("Balance").fill("1000");
  await dialog.getByRole("button", { name: "Create keyspace" }).click();
  await dialog.getByText("Enter a name.").waitFor();
  await take("new-keyspace-invalid", inView);
  await page.goto(keyspace);
  await press("Issue key");
  await dialog.getByLabel("Name", { exact: true }).waitFor();
  await take("issue-key", inView);
  await dialog.getByRole("button", { name: "Issue key" }).click();
  await dialog.getByText("Copy the new secret").waitFor();
  await take("issued-secret", inView);
  const secret = await dialog.getByLabel("Key", { exact: true }).inputValue();
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.getByRole("button", { name: "Done" }).click();
  await dialog.waitFor({ state: "detached" });
  await press("Try a key");
  await dialog.getByLabel("Key", { exact: true }).fill(secret);
  await dialog.getByRole("button", { name: "Verify" }).click();
  await dialog.getByText("VALID", { exact: true }).waitFor();
  await take("try-issued-key", inView);
  await close();
  await press("Delete keyspace");
  await dialog.getByText("stop working").waitFor();
  await take("delete-keyspace", inView);
  await close();
  await page.goto(`${keyspace}/keys/${issuedKeyId}`);
  await press("Edit");
  await dialog.getByLabel("Name", { exact: true }).waitFor();
  await take("edit-issued-key", inView);
  await close();
  await press("Delete key");
  await dialog.getByText("NOT_FOUND").waitFor();
  await take("delete-issued-key", inView);
  await close();
}
