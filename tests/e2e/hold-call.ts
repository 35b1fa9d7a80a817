import type { Page } from "playwright-core";
import { routeOnce } from "./route-once.ts";

interface HeldCall {
  /** Settles when the page has sent the call. */
  readonly isSent: Promise<void>;
  /** Passes the call on to the server. */
  readonly release: () => void;
}

/** Holds the next call of a procedure, so that it is in flight until it is released. */
export async function holdCall(page: Page, procedure: string): Promise<HeldCall> {
  const [sent, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await routeOnce(page, new RegExp(`/trpc/${procedure}\\b`), async (route) => {
    sent.resolve();
    await released.promise;
    await route.continue();
  });
  return { isSent: sent.promise, release: () => released.resolve() };
}
