import type { Page, Route } from "playwright-core";

interface HeldCall {
  /** Settles when the page has sent the call. */
  readonly isSent: Promise<void>;
  /** Passes the call on to the server. */
  readonly release: () => void;
}

/** Holds the next call of a procedure, so that it is in flight until it is released. */
export async function holdCall(page: Page, procedure: string): Promise<HeldCall> {
  const [sent, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const hold = async (route: Route) => {
    sent.resolve();
    await released.promise;
    await route.continue();
  };
  await page.route(new RegExp(`/trpc/${procedure}\\b`), hold, { times: 1 });
  return { isSent: sent.promise, release: () => released.resolve() };
}
