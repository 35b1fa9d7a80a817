import { batchCostOf, maxBatchCost } from "@latchkey/api/batch-costs";
import type { AppRouter } from "@latchkey/api/router";
import { createTRPCClient } from "@trpc/client";
import { expect, test } from "vitest";
import { createLinks } from "./links.ts";

/** Returns a client, and the names of the procedures that each of its requests calls. */
function createClient() {
  const requests: string[][] = [];
  const fetch = async (url: RequestInfo | URL | string): Promise<Response> => {
    const names = new URL(String(url)).pathname.replace("/trpc/", "").split(",");
    requests.push(names);
    return Response.json(names.map(() => ({ result: { data: null } })));
  };
  const links = createLinks({ url: "http://localhost/trpc", fetch });
  return { client: createTRPCClient<AppRouter>({ links }), requests };
}

test("keeps the cost of every batch within the API's limit, however many calls are concurrent", async () => {
  const { client, requests } = createClient();
  const id = "key_01h455vb4pex5vsknk084sn02q";
  const period = { from: "2026-03-01T00:00:00Z", to: "2026-03-02T00:00:00Z", bucket: "hour" } as const;
  await Promise.all(
    Array.from({ length: 12 }, () => [
      client.apiKeys.get.query({ id }),
      client.apiKeys.list.query({ search: "x" }),
      client.keyHistory.usage.query({ id, ...period }),
      client.session.current.query(),
    ]).flat(),
  );
  const costs = requests.map((names) => names.reduce((total, name) => total + batchCostOf(name), 0));
  expect(requests.flat()).toHaveLength(48);
  expect(Math.max(...costs)).toBeLessThanOrEqual(maxBatchCost);
  expect(requests.filter((names) => names.length > 1).flat()).not.toContain("apiKeys.list");
  expect(Math.max(...requests.map(({ length }) => length))).toBeGreaterThan(1);
});
