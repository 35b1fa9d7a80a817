import type { Locator } from "playwright-core";
import { vi } from "vitest";

/**
 * Scrolls to the placeholders of what loads when it comes into view, until an element exists. What has already loaded moves the
 * other placeholders, so that one scroll isn't enough.
 */
export async function scrollUntil(element: Locator): Promise<void> {
  const page = element.page();
  const isShown = async () => {
    await page.evaluate(
      "document.querySelector('.mantine-Skeleton-root')?.scrollIntoView({ block: 'center' })",
    );
    return (await element.count()) > 0;
  };
  await vi.waitUntil(isShown, { timeout: 30_000 });
}
