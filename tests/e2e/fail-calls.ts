import type { Page } from "playwright-core";

/** Lets the calls of a procedure fail, until `page.unrouteAll()`. */
export async function failCalls(page: Page, procedure: string): Promise<void> {
  const message = "Internal server error";
  const data = { code: "INTERNAL_SERVER_ERROR", httpStatus: 500, requestId: "req-1234" };
  await page.route(`**/trpc/*${procedure}*`, (route) => {
    // A response per call of the batch.
    const names = new URL(route.request().url()).pathname.split(",");
    return route.fulfill({
      status: 500,
      json: names.map(() => ({ error: { code: -32603, message, data } })),
    });
  });
}
