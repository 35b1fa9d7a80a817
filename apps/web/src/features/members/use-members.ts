import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { trpc, trpcClient } from "../../server/trpc.ts";
import type { MemberSort, MembersSearch } from "./members-search.ts";

/** The paginated query for the members of a workspace. */
export function membersQuery(workspaceId: string, { q, role, sort, size }: MembersSearch) {
  const input = {
    workspaceId,
    ...(q && { search: q }),
    ...(role && { role }),
    ...(sort && { sort: sort as MemberSort }), // parseTableSearch accepts no other.
    ...(size && { pageSize: size }),
  };
  return infiniteQueryOptions({
    queryKey: trpc.members.list.infiniteQueryKey(input),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.members.list.query({ ...input, ...(cursor !== null && { cursor }) }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

export function useMembers(workspaceId: string, search: MembersSearch) {
  return useInfiniteQuery({ ...membersQuery(workspaceId, search), placeholderData: keepPreviousData });
}
