import {
  infiniteQueryOptions,
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
  useQuery,
} from "@tanstack/react-query";
import { refreshEvery } from "../../server/refresh-every.ts";
import { replaceData } from "../../server/replace-data.ts";
import { trpc, trpcClient, type Webhook } from "../../server/trpc.ts";
import {
  type DeliveriesSearch,
  defaultDeliverySort,
  type WebhookSort,
  type WebhooksSearch,
} from "./webhooks-search.ts";

interface WebhookPath {
  readonly workspaceId: string;
  readonly id: string;
}

/** How often the log of deliveries is read again, in milliseconds. */
const refreshEveryMs = 2_000;
/** How often a webhook and the list of webhooks are read again, in milliseconds. */
const refreshWebhookEveryMs = 3_000;

/** The webhooks of a workspace, in pages, which are read again while the list is visible, because deliveries change their status. */
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
  return useInfiniteQuery({
    ...query,
    placeholderData: keepPreviousData,
    ...refreshEvery(refreshWebhookEveryMs),
  });
}

/** A webhook, which is read again while the page is visible, because deliveries change its status. */
export function useWebhook(path: WebhookPath) {
  return useQuery({
    ...trpc.webhooks.get.queryOptions(path),
    ...refreshEvery(refreshWebhookEveryMs),
  });
}

/**
 * Shows what a change returned, and reloads the list of webhooks and the deliveries: disabling a webhook fails its pending
 * deliveries.
 */
export async function showWebhook(
  queryClient: QueryClient,
  workspaceId: string,
  webhook: Webhook,
): Promise<void> {
  await replaceData(queryClient, trpc.webhooks.get.queryKey({ workspaceId, id: webhook.id }), webhook);
  void queryClient.invalidateQueries({ queryKey: trpc.webhooks.list.pathKey() });
  void queryClient.invalidateQueries({ queryKey: trpc.webhooks.deliveries.pathKey() });
}

/** The deliveries to a webhook, in pages, which are read again while the list is visible. */
export function useDeliveries(webhook: WebhookPath, { status, sort, size }: DeliveriesSearch) {
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
    ...refreshEvery(refreshEveryMs),
  });
}
