import { batchCostOf, maxBatchCost } from "@latchkey/api/batch-costs";
import type { AppRouter } from "@latchkey/api/router";
import { createTRPCClient } from "@trpc/client";
import { expect, onTestFinished, test, vi } from "vitest";
import { describeFailure } from "./failure.ts";
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

/** Returns a client of a server that never responds, and the signals of its requests. */
function createSilentClient() {
  const signals: AbortSignal[] = [];
  const fetch = (_url: unknown, init?: { readonly signal?: AbortSignal | null | undefined }) =>
    new Promise<Response>((_resolve, reject) => {
      const { signal } = init ?? {};
      if (signal) signals.push(signal);
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  const links = createLinks({ url: "http://localhost/trpc", fetch });
  return { client: createTRPCClient<AppRouter>({ links }), signals };
}

test("fails a call after 75 seconds without a response, as one that the server didn't respond to", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const onFailure = vi.fn();
  const input = { id: "key_01h455vb4pex5vsknk084sn02q" };
  createSilentClient().client.apiKeys.delete.mutate(input).catch(onFailure);
  await vi.advanceTimersByTimeAsync(74_000);
  expect(onFailure).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(onFailure).toHaveBeenCalledOnce();
  expect(describeFailure(onFailure.mock.lastCall?.[0]).code).toBe("NO_ANSWER");
});

test("aborts the request of a call that its caller aborts", async () => {
  const abortion = new AbortController();
  const { client, signals } = createSilentClient();
  const call = client.session.current.query(undefined, { signal: abortion.signal });
  await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([false]);
  abortion.abort();
  await expect(call).rejects.toThrow(/abort/i);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});
