import type { Page, Route } from "playwright-core";

/** Matches calls of a procedure, also in a batch with others. */
export const callsOf = (procedure: string): RegExp =>
  new RegExp(`/trpc/([^?]*,)?${procedure.replace(".", "\\.")}([,?]|$)`);

/** Loses the response to the next call of a procedure, which the server performs. */
export async function loseResponse(page: Page, procedure: string): Promise<void> {
  const lose = async (route: Route) => {
    await route.fetch();
    await route.abort();
  };
  await page.route(callsOf(procedure), lose, { times: 1 });
}
