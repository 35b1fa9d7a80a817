import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { trpc, trpcClient } from "../../server/trpc.ts";
import type { DeliveriesSearch, WebhooksSearch } from "./webhooks-search.ts";

/** How often the log of deliveries is read again while a delivery is pending, in milliseconds. */
const refreshEveryMs = 2_000;

/** The webhooks of a workspace, in pages. */
export function useWebhooks(workspaceId: string, { sort }: WebhooksSearch) {
  const input = { workspaceId, ...(sort && { sort }) };
  const query = infiniteQueryOptions({
    queryKey: trpc.webhooks.list.infiniteQueryKey(input),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.webhooks.list.query({ ...input, ...(cursor !== null && { cursor }) }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
  return useInfiniteQuery({ ...query, placeholderData: keepPreviousData });
}

/** The deliveries to a webhook, newest first, in pages. */
export function useDeliveries(webhook: { workspaceId: string; id: string }, { status }: DeliveriesSearch) {
  const input = { ...webhook, sort: "-createdAt" as const, ...(status && { status }) };
  const query = infiniteQueryOptions({
    queryKey: trpc.webhooks.deliveries.infiniteQueryKey(input),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.webhooks.deliveries.query({ ...input, ...(cursor !== null && { cursor }) }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
  return useInfiniteQuery({
    ...query,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some(({ items }) => items.some((delivery) => delivery.status === "pending"))
        ? refreshEveryMs
        : false,
  });
}
