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

test("splits batches of the longest inputs to fit the query string length that the API accepts", async () => {
  const requestId = "語".repeat(128);
  const calls = Array.from({ length: 9 }, () => trpcClient.keyHistory.explainRequest.query({ requestId }));
  await Promise.allSettled(calls);
  const lengths = requested.map((url) => new URL(url, "http://host.example").search.length - 1);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(4_096);
  // Each request carries as many calls as fit.
  expect(requested).toHaveLength(3);
});
