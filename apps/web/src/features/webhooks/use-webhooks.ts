import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { trpc, trpcClient } from "../../server/trpc.ts";
import {
  type DeliveriesSearch,
  defaultDeliverySort,
  type WebhookSort,
  type WebhooksSearch,
} from "./webhooks-search.ts";

/** How often the log of deliveries is read again while a delivery is pending, in milliseconds. */
const refreshEveryMs = 2_000;

/** The webhooks of a workspace, in pages. */
export function useWebhooks(workspaceId: string, { q, status, sort, size }: WebhooksSearch) {
  const input = {
    workspaceId,
    ...(q && { search: q }),
    ...(status && { status }),
    ...(sort && { sort: sort as WebhookSort }), // parseTableSearch accepts no other.
    ...(size && { pageSize: size }),
  };
  const query = infiniteQueryOptions({
    queryKey: trpc.webhooks.list.infiniteQueryKey(input),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.webhooks.list.query({ ...input, ...(cursor !== null && { cursor }) }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
  return useInfiniteQuery({ ...query, placeholderData: keepPreviousData });
}

/** The deliveries to a webhook, in pages. */
export function useDeliveries(
  webhook: { workspaceId: string; id: string },
  { status, sort, size }: DeliveriesSearch,
) {
  const input = {
    ...webhook,
    sort: sort === undefined ? defaultDeliverySort : ("createdAt" as const), // There is no third order.
    ...(status && { status }),
    ...(size && { pageSize: size }),
  };
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
