import type { Page } from "playwright-core";
import { expect } from "vitest";

/** A node of React's internal tree. */
interface Fiber {
  readonly child: Fiber | null;
  readonly sibling: Fiber | null;
  readonly memoizedProps: { readonly client?: CacheOwner } | null;
}

/** The part of TanStack Query's client that contains the results of queries and mutations. */
interface CacheOwner {
  readonly getQueryCache: () => Cache;
  readonly getMutationCache: () => Cache;
}

interface Cache {
  readonly getAll: () => readonly { readonly queryKey?: unknown; readonly state: unknown }[];
}

/** Expects that the web app's cache has none of these secrets. A mutation leaves the cache in a task after its form was closed. */
export async function expectNotCached(page: Page, secrets: readonly string[]): Promise<void> {
  const readCached = async () => {
    const caches = await readQueryCaches(page);
    return secrets.filter((secret) => caches.includes(secret));
  };
  await expect.poll(readCached).toEqual([]);
}

/**
 * Returns the keys and states of all queries and mutations in the web app's cache, as JSON.
 * @throws an Error if the page has no query client.
 */
export async function readQueryCaches(page: Page): Promise<string> {
  return await page.locator("body > *").evaluateAll((elements) => {
    const containers = elements.flatMap((element) =>
      Object.entries(element).filter(([name]) => name.startsWith("__reactContainer$")),
    );
    const fibers = containers.map(([, fiber]) => fiber as Fiber); // React's internal property.
    for (let index = 0; index < fibers.length; index += 1) {
      const { child, sibling, memoizedProps } = fibers[index] as Fiber; // The index is below the length.
      const client = memoizedProps?.client;
      if (client && "getQueryCache" in client) {
        const cached = [...client.getQueryCache().getAll(), ...client.getMutationCache().getAll()];
        return JSON.stringify(cached.map(({ queryKey, state }) => ({ queryKey, state })));
      }
      fibers.push(...[child, sibling].filter((fiber) => fiber !== null));
    }
    throw new Error("The page has no query client.");
  });
}
