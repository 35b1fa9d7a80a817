import type { Page, Route } from "playwright-core";

/**
 * Handles the next request with a matching URL. Unlike Playwright's option `times`, it leaves the interception on: while Playwright
 * turns it off, a request that the page sends in response to the handled one can hang.
 */
export async function routeOnce(
  page: Page,
  url: string | RegExp,
  handle: (route: Route) => Promise<void>,
): Promise<void> {
  let isHandled = false;
  await page.route(url, async (route) => {
    if (isHandled) return await route.fallback();
    isHandled = true;
    await handle(route);
  });
}
