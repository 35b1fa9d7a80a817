import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { trpc, trpcClient } from "../../server/trpc.ts";
import { toStatusQuery } from "./status-filter.ts";
import type { UserSort, UsersSearch } from "./users-search.ts";

/** The paginated query for the users of the instance. */
function usersQuery(search: UsersSearch) {
  const { q, role, sort, size } = search;
  const input = {
    ...(q && { search: q }),
    ...toStatusQuery(search),
    ...(role && { isOperator: true }),
    ...(sort && { sort: sort as UserSort }), // parseTableSearch accepts no other.
    ...(size && { pageSize: size }),
  };
  return infiniteQueryOptions({
    queryKey: trpc.operator.users.infiniteQueryKey(input),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.operator.users.query({ ...input, ...(cursor !== null && { cursor }) }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

export function useUsers(search: UsersSearch) {
  return useInfiniteQuery({ ...usersQuery(search), placeholderData: keepPreviousData });
}
