import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { trpc, trpcClient } from "../../server/trpc.ts";
import { toStatusQuery } from "./status-filter.ts";
import type { WorkspaceSort, WorkspacesSearch } from "./workspaces-search.ts";

/** The paginated query for the workspaces of the instance. */
function workspacesQuery(search: WorkspacesSearch) {
  const { q, sort, size } = search;
  const input = {
    ...(q && { search: q }),
    ...toStatusQuery(search),
    ...(sort && { sort: sort as WorkspaceSort }), // parseTableSearch accepts no other.
    ...(size && { pageSize: size }),
  };
  return infiniteQueryOptions({
    queryKey: trpc.operator.workspaces.infiniteQueryKey(input),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.operator.workspaces.query({ ...input, ...(cursor !== null && { cursor }) }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

export function useWorkspaces(search: WorkspacesSearch) {
  return useInfiniteQuery({ ...workspacesQuery(search), placeholderData: keepPreviousData });
}
