import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { trpc, trpcClient } from "../../../server/trpc.ts";
import type { ServiceAccountSort, ServiceAccountsSearch } from "./service-accounts-search.ts";

/** The service accounts of a workspace, in pages. */
export function useServiceAccounts(workspaceId: string, { q, sort, size }: ServiceAccountsSearch) {
  const input = {
    workspaceId,
    kind: "service_account" as const,
    ...(q && { search: q }),
    ...(sort && { sort: sort as ServiceAccountSort }), // parseTableSearch accepts no other.
    ...(size && { pageSize: size }),
  };
  const query = infiniteQueryOptions({
    queryKey: trpc.members.list.infiniteQueryKey(input),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.members.list.query({ ...input, ...(cursor !== null && { cursor }) }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
  return useInfiniteQuery({ ...query, placeholderData: keepPreviousData });
}
