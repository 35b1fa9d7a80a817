import type { Page } from "playwright-core";
import { expect } from "vitest";

const returning = `
  dispatchEvent(new Event("visibilitychange"));
  dispatchEvent(new Event("focus"));
`;

/**
 * Lets the user return to the tab, which requests what it shows again, until the page is updated. What was loaded a moment
 * ago is not requested again.
 */
export async function returnToTab(page: Page, isUpdated: () => Promise<boolean>): Promise<void> {
  await expect
    .poll(async () => {
      await page.evaluate(returning);
      return await isUpdated();
    })
    .toBe(true);
}
