import type { Page } from "playwright-core";
import { routeOnce } from "./route-once.ts";

/** Matches calls of a procedure, also in a batch with others. */
export const callsOf = (procedure: string): RegExp =>
  new RegExp(`/trpc/([^?]*,)?${procedure.replace(".", "\\.")}([,?]|$)`);

/** Loses the response to the next call of a procedure, which the server performs. */
export async function loseResponse(page: Page, procedure: string): Promise<void> {
  await routeOnce(page, callsOf(procedure), async (route) => {
    await route.fetch();
    await route.abort();
  });
}
