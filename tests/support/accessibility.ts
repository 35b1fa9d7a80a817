import axe from "axe-core";
import type { Page } from "playwright-core";

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What axe finds wrong with the page as it is rendered, one line per element. */
export async function findAccessibilityProblems(page: Page): Promise<string[]> {
  return await runAxe(page, {});
}

/** What axe finds wrong with the colors of the page. */
export async function findColorProblems(page: Page): Promise<string[]> {
  return await runAxe(page, { runOnly: ["color-contrast", "link-in-text-block"] });
}

/**
 * What axe finds wrong with the page in light and in dark. Colors are all that differs between the two, so that the
 * other rules run once.
 */
export async function findProblemsInBothSchemes(page: Page): Promise<string[]> {
  await showIn(page, "dark");
  const dark = await findColorProblems(page);
  await showIn(page, "light");
  const light = await runAxe(page, {});
  return [...light.map((problem) => `light: ${problem}`), ...dark.map((problem) => `dark: ${problem}`)];
}

/** Changes the system's color scheme, and waits until the app has followed. */
async function showIn(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
}

async function runAxe(page: Page, options: object): Promise<string[]> {
  const isLoaded = await page.evaluate("'axe' in globalThis");
  if (!isLoaded) await page.evaluate(axe.source);
  const { violations } = (await page.evaluate(
    `axe.run(${JSON.stringify({ ...options, resultTypes: ["violations"] })})`,
  )) as {
    violations: Violation[];
  }; // As axe documents it.
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ""}`),
  );
}
