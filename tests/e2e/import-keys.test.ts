import { createHash, randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { findProblemsInBothSchemes } from "../support/accessibility.ts";
import { enter } from "../support/visitor.ts";
import { getWorkspace, proceduresOf } from "./call.ts";
import { prepareEnvironment } from "./environment.ts";

// Ada moves keys of another system into a keyspace.

let page: Page;
let workspaceId: string;
let keyspaceId: string;

prepareEnvironment(async ({ browser, baseUrl }) => {
  ({ page } = await browser.open());
  await enter(page, baseUrl);
  const { id, slug } = await getWorkspace(page);
  workspaceId = id;
  const fields = { name: "Production", prefix: "acme" };
  ({ id: keyspaceId } = await proceduresOf(page).keyspaces.create.mutate({ workspaceId, fields }));
  await page.goto(`${baseUrl}/w/${slug}/keyspaces/${keyspaceId}`);
});

const dialog = () => page.getByRole("dialog");
const introduction = () => dialog().getByText("Keys that another system issued keep working.");
const formats = () => dialog().getByText("CSV with a header line, or NDJSON.");
const example = () => dialog().getByText("hash,start,externalId");

/** Whether the dialog explains what to import. */
async function expectIntroduction(isShown: boolean): Promise<void> {
  for (const part of [introduction(), formats(), example()]) expect(await part.count()).toBe(isShown ? 1 : 0);
}
const firstKey = "a key of the old system";

/** Chooses a file with this text. */
async function chooseFile(name: string, text: string): Promise<void> {
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    dialog().getByRole("button", { name: "File", exact: true }).click(),
  ]);
  // Otherwise, the browser wouldn't report that the same file is chosen again.
  expect(await chooser.element().inputValue()).toBe("");
  await chooser.setFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
}

function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

const hashes = [firstKey, ...Array.from({ length: 997 }, () => randomUUID())].map(hashOf);
const lines = hashes.map((hash, index) => `${hash},customer_${index % 50},documents.read,`);
lines.splice(10, 0, "not a hash,customer_1,documents.read,");
lines.splice(600, 0, `${hashOf("wrong")},customer_1,Documents!,`);
lines.splice(800, 0, `${hashOf("negative")},customer_1,,-5`);
const file = ["hash,externalId,permissions,credits", ...lines].join("\n");

test("a file is required, and one that can't be read is explained", async () => {
  await page.getByRole("button", { name: "Import keys" }).click();
  await dialog().getByRole("heading", { name: "Import keys" }).waitFor();
  await expectIntroduction(true);
  expect(await formats().textContent()).toContain(
    "The optional fields are start, name, externalId, permissions, limits, credits, expiresAt, isDisabled, ipRanges, and meta.",
  );
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Import keys" }).click();
  await dialog().getByText("Choose a file.", { exact: true }).waitFor();
  await chooseFile("keys.csv", "hash,password\n1,2");
  await dialog().getByRole("button", { name: "Import keys" }).click();
  await dialog().getByText('The column "password" is unknown.').waitFor();
  await expectIntroduction(true);
  await chooseFile("keys.txt", file);
  await dialog().getByRole("button", { name: "Import keys" }).click();
  await dialog().getByText("Choose a file whose name ends in .csv, .ndjson or .jsonl.").waitFor();
});

test("a file that was changed after it was chosen can be chosen again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "latchkey-import-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const changed = join(folder, "changed.csv");
  await writeFile(changed, "hash,password\n1,2");
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    dialog().getByRole("button", { name: "File", exact: true }).click(),
  ]);
  await chooser.setFiles(changed);
  await writeFile(changed, "hash\n");
  await dialog().getByRole("button", { name: "Import keys" }).click();
  await dialog().getByText("The file can’t be read. If it has changed, choose it again.").waitFor();
});

test("imports 998 of 1,001 rows, and names the line, the column and the reason of the others", async () => {
  await chooseFile("keys.csv", file);
  await dialog().getByRole("button", { name: "Import keys" }).click();
  await dialog()
    .getByText(/^998 keys imported in \d+ seconds?\.$/)
    .waitFor();
  await dialog().getByText("3 rows were rejected.").waitFor();
  await expectIntroduction(false);
  const closeButton = dialog().getByRole("button", { name: "Close", exact: true }).last();
  await closeButton.and(page.locator(":focus")).waitFor();
  const rejected = dialog().getByRole("list", { name: "Rejected rows" }).getByRole("listitem");
  expect(await rejected.allTextContents()).toEqual([
    "Line 12hash: Enter the SHA-256 of the key, in hexadecimal, base64 or base64url.",
    "Line 602permissions: item 1: Enter a permission such as documents.read, documents.* or *.",
    "Line 802credits: Use at least 0.",
  ]);
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByText("Correct them, then choose the file again and import it.").waitFor();
  await chooseFile("keys.csv", file);
  await dialog().getByRole("button", { name: "Import keys" }).waitFor();
  await dialog().getByRole("button", { name: "Cancel" }).click();
  await page.getByText("998 keys").first().waitFor();
  const { code, externalId } = await proceduresOf(page).issuedKeys.verify.mutate({
    ...{ workspaceId, keyspaceId, key: firstKey },
    permissions: "documents.read",
  });
  expect({ code, externalId }).toEqual({ code: "VALID", externalId: "customer_0" });
});

test("one row that no request may contain, or that is too large for one, doesn't stop the others", async () => {
  const toLine = (key: string, fields: string) => `{"hash":"${hashOf(key)}"${fields}}`;
  const many = Array.from({ length: 1_001 }, (_, index) => `"f${index}":1`).join();
  const text = [
    toLine("nul", ',"name":"a\\u0000b"'),
    toLine("surrogate", ',"meta":{"plan":"\\ud800"}'),
    toLine("proto", ',"meta":{"__proto__":1}'),
    toLine("many", `,"meta":{${many}}`),
    toLine("large", `,"meta":{"text":"${"x".repeat(110_000)}"}`),
    // More than the largest body, although each row is valid.
    ...Array.from({ length: 40 }, (_, index) =>
      toLine(`cjk ${index}`, `,"meta":{"text":"${"漢".repeat(1_000)}"}`),
    ),
  ].join("\n");
  await page.getByRole("button", { name: "Import keys" }).click();
  await chooseFile("keys.ndjson", text);
  await dialog().getByRole("button", { name: "Import keys" }).click();
  await dialog()
    .getByText(/^40 keys imported in /)
    .waitFor();
  const rejected = dialog().getByRole("list", { name: "Rejected rows" }).getByRole("listitem");
  expect(await rejected.allTextContents()).toEqual([
    "Line 1name: Remove U+0000 and incomplete characters.",
    "Line 2meta: Remove U+0000 and incomplete characters.",
    "Line 3meta: Remove the field named __proto__.",
    "Line 4meta: Use at most 1,000 fields in an object.",
    expect.stringMatching(/^Line 5This row has 110,\d{3} bytes of JSON\. Use at most 100,000\.$/),
  ]);
  await dialog().getByRole("button", { name: "Close", exact: true }).last().click();
});

test("a key whose first characters are unknown is called an imported key", async () => {
  // The newest key was not verified.
  const newest = { workspaceId, keyspaceId, sort: "-createdAt", pageSize: 10 } as const;
  const { items } = await proceduresOf(page).issuedKeys.list.query(newest);
  expect(items[0]?.start).toBe("");
  const id = items[0]?.id ?? "";
  const keyspaceUrl = page.url().replace(/\?.*$/, "");
  await page.goto(`${keyspaceUrl}/keys/${id}`);
  await page.getByText("No verifications in the last 24 hours.").waitFor();
  await page.getByText(`-d '{"key":"IMPORTED_KEY"}'`).waitFor();
  await proceduresOf(page).issuedKeys.rotate.mutate({ workspaceId, keyspaceId, id, overlapSeconds: 3_600 });
  await page.reload();
  const secrets = page.getByRole("region", { name: "Secrets" });
  await secrets.getByText("Imported key", { exact: true }).waitFor();
  expect(await page.getByText("…", { exact: true }).count()).toBe(0);
  await page.goto(keyspaceUrl);
});

test("importing the same file again changes nothing", async () => {
  await page.getByRole("button", { name: "Import keys" }).click();
  await chooseFile("keys.csv", file);
  await dialog().getByRole("button", { name: "Import keys" }).click();
  await dialog()
    .getByText(/^0 keys imported in /)
    .waitFor();
  await dialog().getByText("998 keys were already in the keyspace.").waitFor();
  await dialog().getByRole("button", { name: "Close", exact: true }).last().click();
});

test("can be stopped, and continued with the same file", async () => {
  const keys = Array.from({ length: 1_200 }, () => hashOf(randomUUID()));
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let calls = 0;
  await page.route(/issuedKeyImport\.importRows/, async (route) => {
    calls += 1;
    if (calls === 2) {
      held.resolve();
      await released.promise;
    }
    await route.continue();
  });
  await page.getByRole("button", { name: "Import keys" }).click();
  await chooseFile("keys.csv", ["hash", ...keys].join("\n"));
  await dialog().getByRole("button", { name: "Import keys" }).click();
  await held.promise;
  await dialog()
    .getByText(/^[1-9]\d* keys imported so far$/)
    .waitFor();
  await dialog().getByRole("progressbar", { name: "Import" }).waitFor();
  await expectIntroduction(false);
  expect(await dialog().getByRole("button", { name: "Remove the file" }).count()).toBe(0);
  await dialog().getByRole("status").and(page.locator(":focus")).waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await dialog().getByRole("button", { name: "Stop", exact: true }).click();
  await dialog().locator('button[aria-disabled="true"]', { hasText: "Stopping…" }).waitFor();
  released.resolve();
  await dialog().getByText("You stopped the import.").waitFor();
  await expectIntroduction(false);
  await dialog()
    .getByRole("button", { name: "Close", exact: true })
    .last()
    .and(page.locator(":focus"))
    .waitFor();
  expect(calls).toBe(2);
  await dialog().getByRole("button", { name: "Import keys" }).click();
  await dialog()
    .getByText(/ keys were already in the keyspace\.$/)
    .waitFor();
  const { keyCount } = await proceduresOf(page).keyspaces.get.query({ workspaceId, keyspaceId });
  expect(keyCount).toBe(998 + 40 + 1_200);
  await page.unrouteAll();
  await dialog().getByRole("button", { name: "Close", exact: true }).last().click();
});

test("shows what was imported before a call failed", async () => {
  const keys = Array.from({ length: 1_000 }, () => hashOf(randomUUID()));
  let calls = 0;
  await page.route(/issuedKeyImport\.importRows/, async (route) => {
    calls += 1;
    await (calls === 1 ? route.continue() : route.abort());
  });
  await page.getByRole("button", { name: "Import keys" }).click();
  await chooseFile("keys.csv", ["hash", ...keys].join("\n"));
  await dialog().getByRole("button", { name: "Import keys" }).click();
  await dialog().getByRole("alert").and(page.locator(":focus")).waitFor();
  await dialog()
    .getByText(/^[1-9]\d* keys imported in \d+ seconds?\.$/)
    .waitFor();
  expect(await findProblemsInBothSchemes(page)).toEqual([]);
  await page.unrouteAll();
  await dialog().getByRole("button", { name: "Import keys" }).click();
  await dialog()
    .getByText(/ keys were already in the keyspace\.$/)
    .waitFor();
  await dialog().getByRole("button", { name: "Close", exact: true }).last().click();
});
