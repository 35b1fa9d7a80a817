import { afterEach, beforeEach, expect, test } from "vitest";
import { trpcClient } from "./trpc.ts";

const requested: string[] = [];
const originalFetch = globalThis.fetch;
beforeEach(() => {
  requested.length = 0;
  globalThis.fetch = async (url) => {
    requested.push(String(url));
    return Response.json([]);
  };
});
afterEach(() => {
  globalThis.fetch = originalFetch;
});

test("batches of the longest searches keep to the query string that the API accepts", async () => {
  const search = "語".repeat(100);
  const searches = Array.from({ length: 10 }, (_, index) =>
    trpcClient.apiKeys.list.query({ search, page: index + 1 }),
  );
  await Promise.allSettled(searches);
  const lengths = requested.map((url) => new URL(url, "http://host.example").search.length - 1);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(4_096);
  // Each request carries as many searches as fit.
  expect(requested).toHaveLength(3);
});
