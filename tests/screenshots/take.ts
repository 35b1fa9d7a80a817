import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { getWorkspace, proceduresOf } from "../e2e/call.ts";
import { startBrowser } from "../support/browser.ts";
import { open } from "../support/inspection.ts";
import { connectionTo } from "../support/postmaster.ts";
import { projectRoot } from "../support/product.ts";
import { createTestInstance } from "../support/test-instance.ts";
import { callOpenApi, createKey, signUp, visitor } from "../support/visitor.ts";
import { addKeyUsage } from "./add-key-usage.ts";

// Takes the screenshots of the README and the docs from the running product: `pnpm screenshots`.

const directory = join(projectRoot, "docs/images");
const keys = [
  { name: "Data warehouse export", description: "Reads usage into BigQuery, hourly", uses: 41 },
  { name: "Partner import", description: "Nightly at 02:00 UTC", uses: 7 },
  { name: "Local development", description: "Ada’s laptop", uses: 0 },
  { name: "Grafana", description: "Dashboards of the platform team", uses: 112 },
  { name: "Deploy pipeline", description: "Releases from CI", uses: 1_284 },
] as const;

await mkdir(directory, { recursive: true });
const [instance, browser] = await Promise.all([createTestInstance(), startBrowser()]);
const { baseUrl } = await instance.start();
try {
  const { page: maker } = await browser.open();
  await signUp(maker, baseUrl);
  for (const { name, description, uses } of keys) {
    const key = await createKey(maker, name, description);
    for (let use = 0; use < uses; use += 1) await callOpenApi(baseUrl, key);
  }
  const id = await prepareHistory(maker, "Grafana");
  for (const colorScheme of ["light", "dark"] as const) {
    const viewport = { width: 1280, height: 720 };
    const { page } = await browser.open({ colorScheme, viewport, deviceScaleFactor: 2 });
    const take = (name: string) => page.screenshot({ path: join(directory, `${name}-${colorScheme}.png`) });
    await signIn(page);
    await page.goto(`${baseUrl}/account/api-keys`);
    await page.getByRole("cell", { name: "1,284" }).waitFor();
    await take("api-keys");

    await page.setViewportSize({ width: 1280, height: 1120 });
    await page.goto(`${baseUrl}/account/api-keys/${id}`);
    await page.getByRole("img", { name: /^Requests in the last/ }).waitFor();
    // The rejected requests are loaded when they come into view.
    const rejections = page.getByRole("heading", { name: "Rejected and rate-limited requests" });
    await rejections.scrollIntoViewIfNeeded();
    await page.getByText("dashboard-refresh-0412").waitFor();
    await page.evaluate("window.scrollTo(0, 0)");
    await take("api-key");

    await page.getByRole("button", { name: "Edit restrictions" }).click();
    await page.getByRole("radio", { name: "Selected permissions" }).check();
    await page.getByRole("button", { name: "Save" }).scrollIntoViewIfNeeded();
    await take("restrictions");

    await page.setViewportSize({ width: 1280, height: 480 });
    await page.goto(`${baseUrl}/account/requests/dashboard-refresh-0412`);
    await page.getByText("Your role had the required permission, b").waitFor();
    await take("rejected-request");
  }
} finally {
  await browser.stop();
  await instance.close();
}

async function signIn(page: Page): Promise<void> {
  await page.goto(`${baseUrl}/sign-in`);
  await page.getByLabel("Email").fill(visitor.email);
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Quick start" }).waitFor();
}

/** Restricts a key, has one of its requests rejected, and adds a day of usage. Returns its ID. */
async function prepareHistory(page: Page, name: string): Promise<string> {
  const { id: workspaceId } = await getWorkspace(page);
  const { apiKeys } = proceduresOf(page);
  const [found] = (await apiKeys.list.query({ search: name })).items;
  if (!found) throw new Error(`There is no key ${name}.`);
  const settings = {
    isReadOnly: true,
    workspaceIds: [workspaceId],
    limit: { quota: 100, windowSeconds: 60 },
  };
  await apiKeys.update.mutate({ id: found.id, version: found.version, settings });
  const { key } = await apiKeys.rotate.mutate({ id: found.id, overlapSeconds: 86_400 });
  await fetch(`${baseUrl}/open/workspaces/${workspaceId}`, {
    method: "PATCH",
    headers: { Authorization: `Bearer ${key}`, "X-Request-Id": "dashboard-refresh-0412" },
  });
  const database = await open(await connectionTo(instance.cluster));
  try {
    await database.query("set role latchkey_admission");
    await addKeyUsage(database, { keyId: found.id, workspaceId: null });
  } finally {
    await database.end();
  }
  return found.id;
}
