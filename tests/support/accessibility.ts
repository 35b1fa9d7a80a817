import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

/** Minified, because every document that is checked compiles it again. */
const axeSource = await readFile(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Returns axe's findings on the rendered page, one line per element. */
export async function findAccessibilityProblems(page: Page): Promise<string[]> {
  return await runAxe(page, {});
}

/** Returns axe's findings on the colors of the page. */
export async function findColorProblems(page: Page): Promise<string[]> {
  return await runAxe(page, { runOnly: ["color-contrast", "link-in-text-block"] });
}

/**
 * Returns axe's findings on the page in light and in dark. The two differ only in colors, so all other rules run once.
 */
export async function findProblemsInBothSchemes(page: Page): Promise<string[]> {
  await showIn(page, "dark");
  const dark = await findColorProblems(page);
  await showIn(page, "light");
  const light = await runAxe(page, {});
  return [...light.map((problem) => `light: ${problem}`), ...dark.map((problem) => `dark: ${problem}`)];
}

/** Changes the system's color scheme, and waits until the app uses it. */
async function showIn(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
}

/** Waits until transitions and other finite animations end, because axe would find the colors in between. */
const endOfAnimations = `Promise.all(document.getAnimations()
  .filter(({ playState, effect }) => playState === "running" && Number.isFinite(effect?.getComputedTiming().endTime))
  .map(({ finished }) => finished.catch(() => undefined)))`;

async function runAxe(page: Page, options: object): Promise<string[]> {
  await page.evaluate(`${endOfAnimations}.then(() => undefined)`);
  const isLoaded = await page.evaluate("'axe' in globalThis");
  if (!isLoaded) await page.evaluate(axeSource);
  const { violations } = (await page.evaluate(
    `axe.run(${JSON.stringify({ ...options, resultTypes: ["violations"] })})`,
  )) as {
    violations: Violation[];
  }; // As axe documents it.
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ""}`),
  );
}
