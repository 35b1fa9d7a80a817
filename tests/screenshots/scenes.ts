import { join } from "node:path";
import type { Page } from "playwright-core";
import { scrollPageUntil } from "../support/scroll-until.ts";

export interface TakeOptions {
  readonly fullPage?: boolean;
  /** Whether a request stays unanswered, so that the network never becomes idle. */
  readonly isLoading?: boolean;
  /** Shows the state again after each change of the width, which can close a menu or replace a table with cards. */
  readonly show?: (width: number) => Promise<void>;
}

/** Takes pictures of a state, one per width. */
export type Take = (name: string, options?: TakeOptions) => Promise<void>;

/**
 * Shows states, each after the one before it, and takes their pictures. Does nothing if none of their names is selected. A failure
 * is recorded, and doesn't prevent the following scenes.
 */
export type Scene = (names: string | readonly string[], show: (take: Take) => Promise<void>) => Promise<void>;

export interface SceneOptions {
  readonly directory: string;
  readonly widths: readonly number[];
  readonly colorScheme: string;
  readonly isSelected: (name: string) => boolean;
  /** Called with the state that couldn't be shown. */
  readonly onFailure: (state: string, error: unknown) => void;
}

const height = 900;

/** Creates scenes that are shown in a page. They start at the last width. */
export function createScenes(page: Page, options: SceneOptions): Scene {
  const { directory, widths, colorScheme, isSelected, onFailure } = options;
  const widest = { width: widths.at(-1) ?? 0, height };
  return async (names, show) => {
    const remaining = [names].flat();
    if (!remaining.some(isSelected)) return;
    await page.setViewportSize(widest);
    try {
      await show(async (name, takeOptions) => {
        const format = (width: number) => join(directory, `${name}-${width}-${colorScheme}.png`);
        if (isSelected(name)) await takeAll(page, widths, format, takeOptions);
        remaining.splice(remaining.indexOf(name), 1);
      });
      if (remaining.length > 0) throw new Error("No picture was taken.");
    } catch (error) {
      onFailure(`${remaining.join(", ")} (${colorScheme})`, error);
      await page.unrouteAll({ behavior: "ignoreErrors" });
    }
  };
}

/** Resizes the page for each picture, because a visit per width takes three times as long. */
async function takeAll(
  page: Page,
  widths: readonly number[],
  format: (width: number) => string,
  { fullPage = true, isLoading = false, show }: TakeOptions = {},
): Promise<void> {
  if (!isLoading) {
    await page.waitForLoadState("networkidle");
    // The network can be idle before a dialog requests its content.
    await page.locator("[role=dialog] .mantine-Skeleton-root").first().waitFor({ state: "detached" });
  }
  for (const width of widths) {
    await page.setViewportSize({ width, height });
    await nextFrame(page);
    await show?.(width);
    if (fullPage && !isLoading) await showAll(page);
    // Ends transitions, so that nothing is half visible.
    await page.screenshot({ path: format(width), fullPage, animations: "disabled" });
  }
}

/** Scrolls to what loads when it comes into view, then to the top, where the header is. */
async function showAll(page: Page): Promise<void> {
  const skeletons = page.locator(".mantine-Skeleton-root");
  await scrollPageUntil(page, "no section loads", async () => (await skeletons.count()) === 0);
  await page.evaluate("scrollTo(0, 0)");
  await nextFrame(page);
}

/** Two frames later, the page is laid out for its new width or position. */
async function nextFrame(page: Page): Promise<void> {
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}

/** Opens a page, and waits for a text on it, or for a field with this label. */
export async function openPage(page: Page, url: string, text: string): Promise<void> {
  await page.goto(url);
  const shown = page.getByText(text).or(page.getByLabel(text)).first();
  await scrollPageUntil(page, `“${text}” is shown`, () => shown.isVisible());
}
