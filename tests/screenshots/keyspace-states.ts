import type { Page } from "playwright-core";
import { hashOf } from "./add-keyspaces.ts";
import { openPage } from "./scenes.ts";
import type { Visit } from "./states.ts";

/** Takes the pages of keyspaces and issued keys, and their dialogs. */
export async function takeKeyspaceStates(page: Page, visit: Visit): Promise<void> {
  const { baseUrl, slug, emptySlug, keyspaceId, issuedKeyId, disabledIssuedKeyId, secret, scene } = visit;
  const dialog = page.getByRole("dialog");
  const inView = { fullPage: false };
  const keyspaces = `${baseUrl}/w/${slug}/keyspaces`;
  const keyspace = `${keyspaces}/${keyspaceId}`;
  const key = `${keyspace}/keys/${issuedKeyId}`;
  const consumer = `${keyspace}/consumers/customer_42`;
  const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
  const pressInDialog = (name: string) => dialog.getByRole("button", { name, exact: true }).click();
  for (const [name, url, text] of [
    ["keyspaces", keyspaces, "sk_test_"],
    ["keyspaces-empty", `${baseUrl}/w/${emptySlug}/keyspaces`, "No keyspaces yet"],
    ["keyspaces-no-match", `${keyspaces}?q=nothing`, "No keyspace matches"],
    ["keyspace", keyspace, "Delete keyspace"],
    ["keyspace-no-match", `${keyspace}?q=nothing`, "No key matches"],
    ["keyspace-disabled", `${keyspaces}/${visit.disabledKeyspaceId}`, "This keyspace is disabled"],
    ["keyspace-without-keys", `${keyspaces}/${visit.emptyKeyspaceId}`, "No keys yet"],
    ["keyspace-guide", `${keyspaces}/${visit.unusedKeyspaceId}`, "Waiting for a verification"],
    ["keyspace-usage", `${keyspace}/usage`, "Busiest consumers"],
    ["keyspace-usage-empty", `${keyspaces}/${visit.emptyKeyspaceId}/usage`, "No key was verified"],
    ["issued-key", key, "Delete key"],
    ["issued-key-disabled", `${keyspace}/keys/${disabledIssuedKeyId}`, "Enable key"],
    ["consumers", `${keyspace}/consumers`, "customer_42"],
    ["consumers-empty", `${keyspaces}/${visit.emptyKeyspaceId}/consumers`, "No consumers yet"],
    ["consumers-no-match", `${keyspace}/consumers?q=nothing`, "No consumer matches"],
    ["consumer", consumer, "Delete all keys"],
  ] as const) {
    await scene(name, async (take) => {
      await openPage(page, url, text);
      await take(name);
    });
  }
  for (const [name, url, button, text] of [
    ["new-keyspace", keyspaces, "New keyspace", "Name"],
    ["edit-keyspace", keyspace, "Edit", "Name"],
    ["disable-keyspace", keyspace, "Disable keyspace", "Cancel"],
    ["enable-keyspace", `${keyspaces}/${visit.disabledKeyspaceId}`, "Enable keyspace", "Cancel"],
    ["delete-keyspace", keyspace, "Delete keyspace", "stop working"],
    ["issue-key", keyspace, "Issue key", "Name"],
    ["edit-issued-key", key, "Edit", "Name"],
    ["rotate-issued-key", key, "Rotate", "24 hours"],
    ["revoke-old-secrets", key, "Revoke old secret", "Valid until"],
    ["change-balance", key, "Change balance", "Credits"],
    ["disable-issued-key", key, "Disable key", "DISABLED"],
    ["enable-issued-key", `${keyspace}/keys/${disabledIssuedKeyId}`, "Enable key", "Cancel"],
    ["delete-issued-key", key, "Delete key", "NOT_FOUND"],
    ["edit-consumer", consumer, "Edit limits", "Add rate limit"],
    ["rotate-consumer", consumer, "Rotate all keys", "24 hours"],
    ["disable-consumer", consumer, "Disable all keys", "Last used"],
    ["delete-consumer", consumer, "Delete all keys", "Last used"],
    ["import-keys", keyspace, "Import keys", "Choose a file"],
    ["export-usage", `${keyspace}/usage`, "Export CSV", "Cancel"],
  ] as const) {
    await scene(name, async (take) => {
      await page.goto(url);
      await press(button);
      await dialog
        .getByText(text, { exact: text === "Name" })
        .or(dialog.getByLabel(text))
        .first()
        .waitFor();
      await take(name, inView);
    });
  }
  await scene("new-keyspace-invalid", async (take) => {
    await page.goto(keyspaces);
    await press("New keyspace");
    await pressInDialog("Add rate limit");
    await dialog.getByLabel("Balance").fill("1000");
    await pressInDialog("Create keyspace");
    await dialog.getByText("Enter a name.").waitFor();
    await take("new-keyspace-invalid", inView);
  });
  await scene("issue-key-invalid", async (take) => {
    await page.goto(keyspace);
    await press("Issue key");
    await dialog.getByLabel("Permissions").fill("Documents!");
    await dialog.getByLabel("IP ranges").fill("203.0.113.0/24\n10.0.0.300");
    await dialog.getByLabel("Quota").fill("none");
    await dialog.getByLabel("Metadata").fill("{");
    await pressInDialog("Issue key");
    await dialog.locator("[aria-invalid=true]").first().waitFor();
    await take("issue-key-invalid", inView);
  });
  await scene("issued-secret", async (take) => {
    await page.goto(keyspace);
    await press("Issue key");
    await pressInDialog("Issue key");
    await dialog.getByText("Copy the new secret").waitFor();
    await take("issued-secret", inView);
  });
  await scene("issued-secret-guide", async (take) => {
    await page.goto(`${keyspaces}/${visit.unusedKeyspaceId}`);
    await press("Issue key");
    await pressInDialog("Issue key");
    await dialog.getByText("Copy the new secret").waitFor();
    await take("issued-secret-guide", inView);
  });
  await scene(["try-issued-key", "try-issued-key-rejected"], async (take) => {
    await page.goto(key);
    await press("Try a key");
    await dialog.getByLabel("Key", { exact: true }).fill(secret);
    await dialog.getByLabel("IP address of the consumer").fill("203.0.113.7");
    await dialog.getByLabel("Cost").fill("0");
    await pressInDialog("Verify key");
    await dialog.getByText("VALID", { exact: true }).waitFor();
    await take("try-issued-key", inView);
    await dialog.getByLabel("Required permissions").fill("admin");
    await pressInDialog("Verify key");
    await dialog.getByText("INSUFFICIENT_PERMISSIONS", { exact: true }).waitFor();
    await take("try-issued-key-rejected", inView);
  });
  await scene("rotate-issued-key-invalid", async (take) => {
    await page.goto(key);
    await press("Rotate");
    await dialog.getByRole("radio", { name: "Custom duration" }).check();
    await pressInDialog("Rotate key");
    await dialog.getByText("Enter a whole number").waitFor();
    await take("rotate-issued-key-invalid", inView);
  });
  await scene("change-balance-invalid", async (take) => {
    await page.goto(key);
    await press("Change balance");
    await dialog.getByLabel("Credits").fill("-1");
    await pressInDialog("Change balance");
    await dialog.getByText("Enter a whole number").waitFor();
    await take("change-balance-invalid", inView);
  });
  const select = async () => {
    await page.goto(keyspace);
    for (const name of ["Globex", "Initech", "Hooli"])
      await page.getByRole("checkbox", { name: `Select ${name}` }).check();
  };
  await scene(
    ["keys-selected", "disable-issued-keys", "enable-issued-keys", "delete-issued-keys"],
    async (take) => {
      await select();
      await take("keys-selected", inView);
      for (const [name, action] of [
        ["disable-issued-keys", "Disable"],
        ["enable-issued-keys", "Enable"],
        ["delete-issued-keys", "Delete"],
      ] as const) {
        await press(action);
        await dialog.getByRole("button", { name: "Cancel" }).waitFor();
        await take(name, inView);
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
      }
    },
  );
  await scene(["rotate-issued-keys", "rotated-issued-keys"], async (take) => {
    await select();
    await press("Rotate");
    await dialog.getByRole("radio", { name: "24 hours" }).waitFor();
    await take("rotate-issued-keys", inView);
    await pressInDialog("Rotate 3 keys");
    await dialog.getByRole("heading", { name: "Download the new secrets" }).waitFor();
    await take("rotated-issued-keys", inView);
  });
  await scene("import-rejected", async (take) => {
    await page.goto(keyspace);
    await press("Import keys");
    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      dialog.getByRole("button", { name: "File", exact: true }).click(),
    ]);
    const rows = Array.from({ length: 60 }, (_, index) =>
      index % 2 === 0
        ? `no hash,customer_${index},documents.read`
        : `${hashOf(String(index))},customer_1,Documents!`,
    );
    const text = ["hash,externalId,permissions", `${hashOf(visit.colorScheme)},customer_42,`, ...rows].join(
      "\n",
    );
    await chooser.setFiles({ name: "keys.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
    await pressInDialog("Import keys");
    await dialog.getByText(/^1 key imported/).waitFor();
    await take("import-rejected", inView);
  });
}
