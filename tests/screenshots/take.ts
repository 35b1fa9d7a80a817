import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { startBrowser } from "../support/browser.ts";
import { projectRoot, startProduct } from "../support/product.ts";
import { callOpenApi, createKey, signUp, visitor } from "../support/visitor.ts";

// Takes the pictures of the README from the product as it runs: `pnpm screenshots`.

const directory = join(projectRoot, "docs/images");
const keys = [
  { name: "Data warehouse export", description: "Reads usage into BigQuery, hourly", uses: 41 },
  { name: "Partner import", description: "Nightly at 02:00 UTC", uses: 7 },
  { name: "Local development", description: "Ada’s laptop", uses: 0 },
  { name: "Grafana", description: "Dashboards of the platform team", uses: 112 },
  { name: "Deploy pipeline", description: "Releases from CI", uses: 1_284 },
] as const;

await mkdir(directory, { recursive: true });
const [product, browser] = await Promise.all([startProduct(), startBrowser()]);
try {
  const { page: maker } = await browser.open();
  await signUp(maker, product.baseUrl);
  for (const { name, description, uses } of keys) {
    const key = await createKey(maker, name, description);
    for (let use = 0; use < uses; use += 1) await callOpenApi(product.baseUrl, key);
  }
  for (const colorScheme of ["light", "dark"] as const) {
    const viewport = { width: 1280, height: 720 };
    const { page } = await browser.open({ colorScheme, viewport, deviceScaleFactor: 2 });
    await signIn(page);
    await page.goto(`${product.baseUrl}/account/api-keys`);
    await page.getByRole("cell", { name: "1,284" }).waitFor();
    await page.screenshot({ path: join(directory, `api-keys-${colorScheme}.png`) });
  }
} finally {
  await browser.stop();
  await product.stop();
}

async function signIn(page: Page): Promise<void> {
  await page.goto(product.baseUrl);
  await page.getByLabel("Email").fill(visitor.email);
  await page.getByLabel("Password").fill(visitor.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Quick start" }).waitFor();
}
