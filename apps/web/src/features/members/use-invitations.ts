import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { trpc, trpcClient } from "../../server/trpc.ts";
import type { InvitationSort, InvitationsSearch } from "./invitations-search.ts";

/** The invitations of a workspace, in pages. */
export function useInvitations(workspaceId: string, { q, status, sort, size }: InvitationsSearch) {
  const input = {
    workspaceId,
    ...(q && { search: q }),
    ...(status && { status }),
    ...(sort && { sort: sort as InvitationSort }), // parseTableSearch accepts no other.
    ...(size && { pageSize: size }),
  };
  const query = infiniteQueryOptions({
    queryKey: trpc.invitations.list.infiniteQueryKey(input),
    queryFn: ({ pageParam: cursor }) =>
      trpcClient.invitations.list.query({ ...input, ...(cursor !== null && { cursor }) }),
    initialPageParam: null as string | null, // The first page has no cursor.
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
  return useInfiniteQuery({ ...query, placeholderData: keepPreviousData });
}
