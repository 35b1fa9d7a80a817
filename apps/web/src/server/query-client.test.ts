import { MutationObserver, QueryObserver } from "@tanstack/react-query";
import { TRPCClientError } from "@trpc/client";
import { expect, onTestFinished, test, vi } from "vitest";
import { queryClient } from "./query-client.ts";

test("keeps nothing of a mutation after its form was closed", async () => {
  const createSecret = new MutationObserver(queryClient, {
    mutationFn: async (password: string) => `the secret for ${password}`,
  });
  const close = createSecret.subscribe(() => undefined);
  await createSecret.mutate("a password");
  const cached = () => queryClient.getMutationCache().getAll();
  expect(cached()).toMatchObject([{ state: { variables: "a password", status: "success" } }]);
  close();
  await expect.poll(cached).toEqual([]);
});

function forbidden(): Error {
  const data = { code: "FORBIDDEN", httpStatus: 403 };
  return TRPCClientError.from({ error: { code: -32603, message: "Insufficient access", data } });
}

test("loads the open workspace again after calls are forbidden, once for concurrent ones, and not endlessly", async () => {
  const load = vi.fn(async () => "a workspace");
  const queryKey = [["workspaces", "get"], { input: { workspaceId: "ws_1" }, type: "query" }];
  const open = new QueryObserver(queryClient, { queryKey, queryFn: load });
  const close = open.subscribe(() => undefined);
  onTestFinished(() => {
    close();
    queryClient.clear();
  });
  const poll = async () => {
    const names = ["get", "list", "changes", "usage"];
    await Promise.allSettled(
      names.map((name) =>
        queryClient.fetchQuery({ queryKey: [["keys", name]], queryFn: () => Promise.reject(forbidden()) }),
      ),
    );
  };
  await expect.poll(() => open.getCurrentResult().data).toBe("a workspace");
  await poll();
  await expect.poll(() => open.getCurrentResult().isFetching).toBe(false);
  expect(load).toHaveBeenCalledTimes(2);
  const change = new MutationObserver(queryClient, { mutationFn: () => Promise.reject(forbidden()) });
  load.mockImplementation(() => Promise.reject(forbidden()));
  await change.mutate().catch(() => undefined);
  await expect.poll(() => open.getCurrentResult().isError).toBe(true);
  await poll();
  expect(open.getCurrentResult().isFetching).toBe(false);
  expect(load).toHaveBeenCalledTimes(3);
});
