import type { Locator, Page } from "playwright-core";
import { eventually } from "./postmaster.ts";

/** A timeout in milliseconds that is far longer than scrolling takes on a busy machine. */
const hangsAfterMs = 30_000;

/**
 * Scrolls to the placeholders of what loads when it comes into view, until an element exists. What has already loaded moves the
 * other placeholders, so that one scroll isn't enough.
 */
export async function scrollUntil(element: Locator): Promise<void> {
  await scrollPageUntil(element.page(), `${element} exists`, async () => (await element.count()) > 0);
}

/** Scrolls like {@link scrollUntil} until a condition is met. @param what the condition, for the error if it is never met. */
export async function scrollPageUntil(
  page: Page,
  what: string,
  condition: () => Promise<boolean>,
): Promise<void> {
  const isMet = async () => {
    await page.evaluate(
      "document.querySelector('.mantine-Skeleton-root')?.scrollIntoView({ block: 'center' })",
    );
    return await condition();
  };
  await eventually(what, isMet, hangsAfterMs);
}
